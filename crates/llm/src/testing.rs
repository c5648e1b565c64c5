//! What the tests of several modules need.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hindsight_ports::Clock;
use hindsight_types::Timestamp;

/// Time that passes when it is told to. Begins on an evening of 2026, UTC.
pub(crate) struct ManualClock(Mutex<Timestamp>);

impl Default for ManualClock {
    fn default() -> Self {
        Self(Mutex::new("2026-03-01T20:00:00Z".parse().unwrap()))
    }
}

impl ManualClock {
    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.checked_add(by).unwrap();
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
