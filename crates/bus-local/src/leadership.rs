use std::{
    collections::HashMap,
    future,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hindsight_ports::{BusError, Leadership};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One seat for each name. Only one process has the queue file, so its own seats are enough.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seats(Arc<Mutex<HashMap<String, Arc<Semaphore>>>>);

impl Seats {
    pub(crate) fn candidate(&self, name: &str) -> Candidate {
        let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seat = seats.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1)));
        Candidate { seat: Arc::clone(seat), taken: None }
    }
}

pub(crate) struct Candidate {
    seat: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

#[async_trait]
impl Leadership for Candidate {
    async fn acquired(&mut self) -> Result<(), BusError> {
        if self.taken.is_none() {
            let seat = Arc::clone(&self.seat).acquire_owned().await;
            self.taken = Some(seat.map_err(|_| BusError::Closed)?);
        }
        Ok(())
    }

    async fn lost(&mut self) {
        if self.taken.is_some() {
            future::pending::<()>().await;
        }
    }
}
