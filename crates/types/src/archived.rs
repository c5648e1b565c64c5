use serde::{Deserialize, Serialize};

use crate::{Memory, MemoryId, Timestamp};

/// A memory that left the search for the archive, as it was then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Archived {
    pub memory: Memory,
    pub at: Timestamp,
    /// In words a person can check.
    pub why: String,
    /// What speaks for it now, when that is why it left.
    pub instead: Option<MemoryId>,
    /// When it was brought back. It is there again, and does not leave by itself any more.
    pub restored_at: Option<Timestamp>,
}
