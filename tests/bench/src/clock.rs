//! The time of a simulated world: set from one event to the next, and running on in between, so that whatever waits
//! for a time to come comes to an end.

use std::{sync::Mutex, time::Instant};

use hindsight_ports::Clock;
use hindsight_types::Timestamp;

#[derive(Debug)]
pub(crate) struct WorldClock(Mutex<(Timestamp, Instant)>);

impl Default for WorldClock {
    fn default() -> Self {
        Self(Mutex::new((Timestamp::UNIX_EPOCH, Instant::now())))
    }
}

impl WorldClock {
    /// From now on it is `now`. Time never goes backwards.
    pub(crate) fn set(&self, now: Timestamp) {
        let mut set = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let passed = running(*set);
        *set = (now.max(passed), Instant::now());
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        running(*self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

fn running((set, at): (Timestamp, Instant)) -> Timestamp {
    set.checked_add(at.elapsed()).unwrap_or(set)
}
