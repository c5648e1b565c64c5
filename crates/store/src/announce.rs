//! Whoever keeps copies of memories is told when they are out of date.

mod archive;
mod around;
mod forget;
mod history;
mod pending;
mod store;
mod subjects;
mod transfer;

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use hindsight_codec::{changes_to_proto, schema};
use hindsight_ports::{Bus, BusError, Clock, Envelope};
use hindsight_types::{MemoryChange, TenantId};
use prost::Message as _;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

pub use around::Announced;
use pending::Pending;

/// Longest that a write waits until its change is told.
const PATIENCE: Duration = Duration::from_millis(250);
/// Between two tries while the bus takes nothing.
const PAUSE: Duration = Duration::from_millis(250);

/// Held while something is written.
type Hold = Box<dyn Any + Send>;
type Near = Box<dyn Fn(&[MemoryChange]) -> Hold + Send + Sync>;

/// Tells what changed: those in this process at once, all others through the bus. What changes while something
/// is being told is told together afterwards, so that many writes become few messages; while the bus takes
/// nothing it is kept, and told when it does.
pub struct Announcer {
    near: RwLock<Vec<Near>>,
    shared: Arc<Shared>,
    _telling: AbortOnDropHandle<()>,
}

struct Shared {
    pending: Mutex<Pending>,
    added: Notify,
    told: watch::Sender<Told>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// Changes up to this one are told.
    upto: u64,
    /// The last try failed.
    failing: bool,
}

impl Announcer {
    /// Needs a Tokio runtime.
    pub fn start(bus: Arc<dyn Bus>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let shared = Arc::new(Shared {
            pending: Mutex::default(),
            added: Notify::new(),
            told: watch::Sender::new(Told::default()),
        });
        let telling = tokio::spawn(tell(Arc::clone(&shared), bus, clock));
        Arc::new(Self { near: RwLock::default(), shared, _telling: AbortOnDropHandle::new(telling) })
    }

    /// Has `near` called with what is about to change. What it returns is dropped when it has changed, before the
    /// write returns: meanwhile a reader may see either. It must not block.
    pub fn also_tell(&self, near: impl Fn(&[MemoryChange]) -> Hold + Send + Sync + 'static) {
        self.near.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(near));
    }

    fn begin(&self, changes: &[MemoryChange]) -> Vec<Hold> {
        let near = self.near.read().unwrap_or_else(PoisonError::into_inner);
        near.iter().map(|near| near(changes)).collect()
    }

    /// Returns the number of the change.
    fn announce(&self, changes: Vec<MemoryChange>) -> u64 {
        let number = self.shared.pending().add(changes);
        self.shared.added.notify_one();
        number
    }

    /// Waits until it is told, unless that takes long or cannot be done now.
    async fn told(&self, number: u64) {
        let mut told = self.shared.told.subscribe();
        // On time-out it is told later.
        let _ = timeout(PATIENCE, told.wait_for(|t| t.upto >= number || t.failing)).await;
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcer").field("told", &*self.shared.told.borrow()).finish_non_exhaustive()
    }
}

impl Shared {
    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, told: Told) {
        let before = self.told.send_replace(told);
        match (before.failing, told.failing) {
            (false, true) => tracing::warn!("other processes cannot be told of changes for now"),
            (true, false) => tracing::info!("other processes are told of changes again"),
            _ => {}
        }
    }
}

async fn tell(shared: Arc<Shared>, bus: Arc<dyn Bus>, clock: Arc<dyn Clock>) {
    loop {
        shared.added.notified().await;
        loop {
            let (changes, upto) = shared.pending().take();
            if changes.is_empty() {
                break;
            }
            let mut left = Vec::new();
            for (tenant, changes) in changes {
                match bus.broadcast(envelope(tenant, &changes, &*clock)).await {
                    Ok(()) => {}
                    Err(BusError::Rejected(error)) => tracing::error!(error, "a change is told to nobody"),
                    Err(error) => {
                        tracing::debug!(%error, "a change is not told yet");
                        left.extend(changes);
                    }
                }
            }
            if left.is_empty() {
                shared.note(Told { upto, failing: false });
                continue;
            }
            shared.pending().put_back(left);
            let upto = shared.told.borrow().upto;
            shared.note(Told { upto, failing: true });
            sleep(PAUSE).await;
        }
    }
}

fn envelope(tenant: TenantId, changes: &[MemoryChange], clock: &dyn Clock) -> Envelope {
    Envelope {
        id: Uuid::new_v4(),
        schema: schema::MEMORIES_CHANGED.to_owned(),
        tenant,
        occurred_at: clock.now(),
        trace_context: [].into(),
        payload: changes_to_proto(changes).encode_to_vec(),
    }
}
