use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactorSettings {
    /// A task without its end is ended when nothing was heard of it for this long. At least ten times the
    /// time between two touches of an open task by the collector.
    pub idle_after: Duration,
    /// Between two looks.
    pub every: Duration,
    /// Receipts of recalls are deleted when they are older.
    pub receipts_kept: Duration,
    /// Between two deletions of old receipts.
    pub expire_every: Duration,
}

impl Default for CompactorSettings {
    fn default() -> Self {
        Self {
            idle_after: Duration::from_secs(30 * 60),
            every: Duration::from_secs(60),
            receipts_kept: Duration::from_secs(30 * 24 * 60 * 60),
            expire_every: Duration::from_secs(60 * 60),
        }
    }
}
