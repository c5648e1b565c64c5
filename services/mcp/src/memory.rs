//! Hindsight, as far as it is there.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hindsight_client::Client;
use tokio::sync::{Notify, watch};

/// A client, once there is one, and another one when there is a better. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    client: watch::Receiver<Option<Client>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    complained: AtomicBool,
    trouble: Notify,
}

impl Memory {
    /// A memory that is there once a client is put into the sender, and never when that is dropped before.
    pub fn later() -> (watch::Sender<Option<Client>>, Self) {
        let (sender, client) = watch::channel(None);
        (sender, Self { client, shared: Arc::default() })
    }

    /// Waits until a call failed for want of a server.
    pub async fn trouble(&self) {
        self.shared.trouble.notified().await;
    }

    /// Waits for it; `None`: it will not come.
    pub(crate) async fn client(&self) -> Option<Client> {
        let mut client = self.client.clone();
        client.wait_for(Option::is_some).await.ok().and_then(|c| c.clone())
    }

    /// A call failed for want of a server.
    pub(crate) fn is_away(&self) {
        self.shared.trouble.notify_one();
    }

    /// The first failure is worth a warning; the tool goes on without.
    pub(crate) fn failed(&self, what: &str, why: &dyn fmt::Display) {
        self.is_away();
        if self.shared.complained.swap(true, Ordering::Relaxed) {
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
