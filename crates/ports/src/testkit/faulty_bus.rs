use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use uuid::Uuid;

use crate::{Bus, BusError, Consumer, DeadLetter, Envelope, Heard, Leadership, Listener, Queue, QueueStats};

/// A bus on which things go wrong: every `n`th publish or broadcast fails, every message is published twice,
/// listeners miss some.
#[derive(Clone)]
pub struct FaultyBus {
    inner: Arc<dyn Bus>,
    faults: BusFaults,
    published: Arc<AtomicU64>,
    broadcast: Arc<AtomicU64>,
}

fn fires(every: u64, n: u64) -> bool {
    every > 0 && n.is_multiple_of(every)
}

#[derive(Debug, Clone, Copy, Default)]
pub struct BusFaults {
    /// Every nth publish is refused as `Unavailable`; 0: none.
    pub fail_every: u64,
    /// Of the publishes that fail, half were in fact taken: the confirm was lost.
    pub lose_confirms: bool,
    /// Every message is on the bus twice.
    pub duplicate: bool,
    /// Every nth broadcast fails and is not heard; 0: none.
    pub mute_every: u64,
    /// Every nth message that a listener would hear is lost to it, and it learns so; 0: none.
    pub gap_every: u64,
}

impl FaultyBus {
    pub fn new(inner: Arc<dyn Bus>, faults: BusFaults) -> Self {
        Self { inner, faults, published: Arc::default(), broadcast: Arc::default() }
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
        if fires(self.faults.fail_every, n) {
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

    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        let n = 1 + self.broadcast.fetch_add(1, Ordering::Relaxed);
        if self.faults.duplicate {
            self.inner.broadcast(message.clone()).await?;
        }
        if fires(self.faults.mute_every, n) {
            return Err(BusError::Unavailable("injected".into()));
        }
        self.inner.broadcast(message).await
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        let inner = self.inner.listen().await?;
        Ok(Box::new(FaultyListener { inner, gap_every: self.faults.gap_every, heard: 0, joins: false }))
    }

    fn ready(&self) -> Result<(), BusError> {
        self.inner.ready()
    }
}

struct FaultyListener {
    inner: Box<dyn Listener>,
    gap_every: u64,
    heard: u64,
    /// The last thing said was `Lost`.
    joins: bool,
}

#[async_trait]
impl Listener for FaultyListener {
    async fn next(&mut self) -> Result<Heard, BusError> {
        if std::mem::take(&mut self.joins) {
            return Ok(Heard::Joined);
        }
        let heard = self.inner.next().await?;
        if let Heard::Message(_) = heard {
            self.heard += 1;
            if fires(self.gap_every, self.heard) {
                self.joins = true;
                return Ok(Heard::Lost);
            }
        }
        Ok(heard)
    }
}
