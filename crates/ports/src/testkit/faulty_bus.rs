use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use uuid::Uuid;

use crate::{Bus, BusError, Consumer, DeadLetter, Envelope, Leadership, Queue, QueueStats};

/// A bus on which things go wrong: every `n`th publish fails, or every message is published twice.
#[derive(Clone)]
pub struct FaultyBus {
    inner: Arc<dyn Bus>,
    faults: BusFaults,
    published: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct BusFaults {
    /// Every nth publish is refused as `Unavailable`; 0: none.
    pub fail_every: u64,
    /// Of the publishes that fail, half were in fact taken: the confirm was lost.
    pub lose_confirms: bool,
    /// Every message is on the bus twice.
    pub duplicate: bool,
}

impl FaultyBus {
    pub fn new(inner: Arc<dyn Bus>, faults: BusFaults) -> Self {
        Self { inner, faults, published: Arc::default() }
    }
}

impl fmt::Debug for FaultyBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyBus").field("faults", &self.faults).finish_non_exhaustive()
    }
}

#[async_trait]
impl Bus for FaultyBus {
    async fn publish(&self, queue: Queue, mut messages: Vec<Envelope>) -> Result<(), BusError> {
        let n = 1 + self.published.fetch_add(1, Ordering::Relaxed);
        if self.faults.duplicate {
            messages.extend(messages.clone());
        }
        if self.faults.fail_every > 0 && n.is_multiple_of(self.faults.fail_every) {
            if self.faults.lose_confirms && (n / self.faults.fail_every).is_multiple_of(2) {
                self.inner.publish(queue, messages).await?;
            }
            return Err(BusError::Unavailable("injected".into()));
        }
        self.inner.publish(queue, messages).await
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        self.inner.subscribe(queue, prefetch).await
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.inner.stats(queue).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.inner.dead_letters(queue, limit).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        self.inner.dead_letter(queue, id).await
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.inner.replay(queue, id).await
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.inner.replay_all(queue).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.inner.discard(queue, id).await
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        self.inner.lead(name).await
    }

    fn ready(&self) -> Result<(), BusError> {
        self.inner.ready()
    }
}
