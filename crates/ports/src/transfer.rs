use async_trait::async_trait;
use hindsight_types::{RecordBody, TenantId};

use crate::{Encoded, PageRequest, StoreError};

/// Most records that are restored at once.
pub const MOST_RESTORED: usize = 500;

/// Some records of a tenant, on their way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub records: Vec<RecordBody>,
    /// Records among them that cannot be read back, and are left out.
    pub unreadable: u64,
    /// Where the next ones begin; empty at the end.
    pub next: String,
}

/// What became of a record that was to be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// It is written, or joined with what was there.
    Written,
    /// It was there already and stays as it was.
    Present,
}

/// Everything that is kept of a tenant, out of one store and into another. For who administers the tenant: whoever
/// may see a record is not looked at.
#[async_trait]
pub trait Transfer: Send + Sync + 'static {
    /// What is kept of a tenant, whoever may see it, but for the records of work that is under way: tombstones
    /// first, evaluations before events, and then in an order that stays, so that one goes on after a break where
    /// one was. What is written meanwhile may be in it or not. A size of 0 is the default size, too large a one is
    /// cut; a token of another tenant is `Rejected`.
    async fn records(&self, tenant: &TenantId, page: &PageRequest) -> Result<Exported, StoreError>;

    /// Writes records of one tenant, in an order in which nothing of them is missed: a record that is there stays as
    /// it is, but that evidence, lessons and failure patterns are joined with it, the later of two tombstones
    /// counts, and a later statement replaces a fact. The encoding counts for memories, archived ones too. At most
    /// [`MOST_RESTORED`].
    async fn restore_all(&self, records: &[Encoded<RecordBody>]) -> Result<Vec<Restored>, StoreError>;
}
