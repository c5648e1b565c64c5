use async_trait::async_trait;
use hindsight_ports::{BusError, Envelope, Heard, Listener};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Messages that wait for a slow listener; beyond it the oldest are lost to it, and it learns so.
pub(crate) const HEARD: usize = 1024;

pub(crate) struct LocalListener {
    told: Receiver<Envelope>,
    joined: bool,
}

impl LocalListener {
    pub(crate) fn new(told: Receiver<Envelope>) -> Self {
        Self { told, joined: false }
    }
}

#[async_trait]
impl Listener for LocalListener {
    async fn next(&mut self) -> Result<Heard, BusError> {
        if !self.joined {
            self.joined = true;
            return Ok(Heard::Joined);
        }
        match self.told.recv().await {
            Ok(message) => Ok(Heard::Message(message)),
            Err(RecvError::Lagged(_)) => Ok(Heard::Joined),
            Err(RecvError::Closed) => Err(BusError::Closed),
        }
    }
}
