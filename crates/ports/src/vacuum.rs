use std::collections::BTreeSet;

use async_trait::async_trait;
use hindsight_types::Timestamp;

use crate::{Probes, StoreError};

/// What looking through files came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilesRead {
    pub files: u64,
    pub bytes: u64,
    /// The probes that are in them.
    pub found: BTreeSet<u64>,
}

impl FilesRead {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.files += other.files;
        self.bytes += other.bytes;
        self.found.extend(other.found);
        self
    }
}

/// Takes what was deleted from the disk as well. Deleting makes a record unreadable; its bytes stay in files until
/// these are written anew.
#[async_trait]
pub trait Vacuum: Send + Sync + 'static {
    /// Writes the files of these parts (collections of a store; none of a queue) anew from what there is, so that
    /// nothing is left in them of what was deleted or replaced by `deleted_at`. One that was written anew since then
    /// is left as it is. Can be broken off at any point and called again; reads go on meanwhile.
    async fn vacuum(&self, parts: &[String], deleted_at: Timestamp, now: Timestamp)
    -> Result<(), StoreError>;

    /// Looks for probes in every file, of all tenants. `None`: the files are out of reach.
    async fn find(&self, probes: &Probes) -> Result<Option<FilesRead>, StoreError>;
}
