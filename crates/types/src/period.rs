use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// A stretch of time: from `from` on, up to and without `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Period {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Period {
    pub fn contains(&self, time: Timestamp) -> bool {
        self.from <= time && time < self.until
    }
}
