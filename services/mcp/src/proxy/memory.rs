//! Hindsight, as far as it is there.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hindsight_client::Client;
use tokio::sync::watch;

/// A client, once there is one. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    client: watch::Receiver<Option<Client>>,
    complained: Arc<AtomicBool>,
}

impl Memory {
    /// A memory that is there once a client is put into the sender, and never when that is dropped before.
    pub fn later() -> (watch::Sender<Option<Client>>, Self) {
        let (sender, client) = watch::channel(None);
        (sender, Self { client, complained: Arc::default() })
    }

    /// Waits for it; `None`: it will not come.
    pub(crate) async fn client(&self) -> Option<Client> {
        let mut client = self.client.clone();
        client.wait_for(Option::is_some).await.ok().and_then(|c| c.clone())
    }

    /// The first failure is worth a warning; the tool goes on without.
    pub(crate) fn failed(&self, what: &str, why: &dyn fmt::Display) {
        if self.complained.swap(true, Ordering::Relaxed) {
            tracing::debug!(what, %why, "Hindsight does not answer");
        } else {
            tracing::warn!(what, %why, "Hindsight does not answer; the tools go on without it");
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("there", &self.client.borrow().is_some()).finish()
    }
}
