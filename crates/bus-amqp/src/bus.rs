use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use async_trait::async_trait;
use hindsight_ports::{
    Bus, BusError, Consumer, DeadLetter, Envelope, Leadership, Listener, Queue, QueueStats,
    bus::check_leadership_name,
};
use tokio::{runtime::Handle, time::timeout};
use uuid::Uuid;

use crate::{
    consumer::AmqpConsumer,
    leadership::AmqpLeadership,
    listener::AmqpListener,
    message::{self, Message, Past},
    options::AmqpOptions,
    session::{Refusal, Session},
    stats::Watched,
    supervisor::Supervisor,
    topology::Names,
};

/// How long a broadcast waits for the broker.
const BROADCAST: Duration = Duration::from_secs(1);

/// What the bus, its consumers, its candidates and its deliveries have in common. With the last of them the
/// connection is closed.
pub(crate) struct Shared {
    pub(crate) options: AmqpOptions,
    pub(crate) names: Names,
    pub(crate) supervisor: Supervisor,
    pub(crate) runtime: Handle,
    /// Held while this process looks through dead letters.
    pub(crate) browsing: tokio::sync::Mutex<()>,
    ingest: Watched,
    evaluate: Watched,
    compact: Watched,
}

impl Shared {
    pub(crate) fn watched(&self, queue: Queue) -> &Watched {
        match queue {
            Queue::Ingest => &self.ingest,
            Queue::Evaluate => &self.evaluate,
            Queue::Compact => &self.compact,
        }
    }

    pub(crate) fn unsettled(&self, queue: Queue) -> &AtomicU64 {
        &self.watched(queue).unsettled
    }

    /// Waits for `work` no longer than an operation may take.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        let patience = self.options.timeout;
        timeout(patience, work).await.unwrap_or_else(|_| {
            let why = match self.supervisor.ready() {
                Err(BusError::Unavailable(why)) => why,
                _ => "the broker does not answer".into(),
            };
            Err(BusError::Unavailable(format!("{why} (waited {patience:?})")))
        })
    }

    /// Publishes in a task of its own: confirms must be awaited also when the caller no longer waits.
    pub(crate) async fn publish(
        &self,
        session: &Arc<Session>,
        to: &str,
        messages: Vec<Message>,
    ) -> Result<Result<(), Refusal>, BusError> {
        let (session, to) = (Arc::clone(session), to.to_owned());
        let publishing = tokio::spawn(async move { session.publish(&to, messages).await });
        self.within(async { publishing.await.map_err(|_| BusError::Closed) }).await
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Cheap to clone; all clones share one connection.
#[derive(Debug, Clone)]
pub struct AmqpBus {
    shared: Arc<Shared>,
}

impl AmqpBus {
    /// Connects in the background, now and after every loss: a broker that is away, or that refuses the
    /// credentials, shows in [`Bus::ready`] and in the log. `Rejected` when an option cannot be right.
    /// Must be called in a tokio runtime.
    pub fn start(options: AmqpOptions) -> Result<Self, BusError> {
        options.check()?;
        let names = Names::new(&options.prefix);
        let shared = Shared {
            supervisor: Supervisor::start(options.clone(), names.clone()),
            options,
            names,
            runtime: Handle::current(),
            browsing: tokio::sync::Mutex::default(),
            ingest: Watched::default(),
            evaluate: Watched::default(),
            compact: Watched::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Waits until the broker can be used, at most this long; else why not.
    pub async fn connected(&self, patience: Duration) -> Result<(), BusError> {
        match timeout(patience, self.shared.supervisor.session()).await {
            Ok(session) => session.map(drop),
            Err(_) => self.ready(),
        }
    }
}

#[async_trait]
impl Bus for AmqpBus {
    async fn publish(&self, queue: Queue, messages: Vec<Envelope>) -> Result<(), BusError> {
        if messages.is_empty() {
            return Ok(());
        }
        let (shared, now) = (&self.shared, self.shared.options.clock.now());
        let encoded = messages.iter().map(|m| message::encode(m, &Past::default(), now));
        let encoded = encoded.collect::<Result<Vec<_>, _>>()?;
        let session = shared.within(shared.supervisor.session()).await?;
        match shared.publish(&session, &shared.names.work(queue), encoded).await? {
            Ok(()) => Ok(()),
            Err(refusal) => {
                let max_depth = shared.options.max_depth;
                shared.within(async { Err(session.explain(queue, refusal, max_depth).await) }).await
            }
        }
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        if prefetch == 0 {
            return Err(BusError::Rejected("prefetch must be at least 1".into()));
        }
        Ok(Box::new(AmqpConsumer::start(Arc::clone(&self.shared), queue, prefetch)))
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.shared.within(self.shared.stats(queue)).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.shared.within(self.shared.show(queue, None, limit)).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        let letters = self.shared.within(self.shared.show(queue, Some(id), 1)).await?;
        Ok(letters.into_iter().next())
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        Ok(self.shared.replay(queue, Some(id)).await? > 0)
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.shared.replay(queue, None).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        Ok(self.shared.within(self.shared.discard(queue, id)).await? > 0)
    }

    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        let shared = &self.shared;
        let message = message::encode(&message, &Past::default(), shared.options.clock.now())?;
        let session = shared.supervisor.current()?;
        // A task of its own, as for `publish`.
        let telling = tokio::spawn(async move { session.broadcast(message).await });
        match timeout(BROADCAST.min(shared.options.timeout), telling).await {
            Ok(told) => told.map_err(|_| BusError::Closed)?,
            Err(_) => Err(BusError::Unavailable("the broker does not answer".into())),
        }
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        Ok(Box::new(AmqpListener::start(Arc::clone(&self.shared))))
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        check_leadership_name(name)?;
        Ok(Box::new(AmqpLeadership::start(Arc::clone(&self.shared), name)))
    }

    fn ready(&self) -> Result<(), BusError> {
        self.shared.supervisor.ready()
    }
}
