use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_ports::{BusError, Consumer, Delivery, Queue, Settle};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};

use crate::{
    database::{Ending, Leased},
    owner::{Owner, Request},
};

/// Wait when the bus does not answer, and at most between two looks at an empty queue.
const PAUSE: Duration = Duration::from_secs(1);

/// Fetches in a task of its own, so that dropping a waiting `next` loses nothing.
pub(crate) struct LocalConsumer {
    fetched: mpsc::Receiver<Held>,
    task: JoinHandle<()>,
}

impl LocalConsumer {
    pub(crate) fn start(owner: Arc<Owner>, queue: Queue, prefetch: usize) -> Self {
        let (sender, fetched) = mpsc::channel(prefetch);
        Self { fetched, task: tokio::spawn(fetch(owner, queue, prefetch, sender)) }
    }
}

impl Drop for LocalConsumer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[async_trait]
impl Consumer for LocalConsumer {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        let mut held = self.fetched.recv().await.ok_or(BusError::Closed)?;
        held.seen = true;
        let leased = held.leased.take().ok_or(BusError::Closed)?;
        Ok(Delivery { envelope: leased.envelope, attempt: leased.attempt, settle: Box::new(held) })
    }
}

async fn fetch(owner: Arc<Owner>, queue: Queue, prefetch: usize, sender: mpsc::Sender<Held>) {
    let room = Arc::new(Semaphore::new(prefetch));
    loop {
        let Ok(first) = Arc::clone(&room).acquire_owned().await else { return };
        let max = 1 + room.available_permits();
        let changed = owner.changed(queue).notified();
        tokio::pin!(changed);
        // Registered before the look, so that a publish in between is not missed.
        changed.as_mut().enable();
        match owner.ask(|reply| Request::Fetch { queue, max, reply }).await {
            Err(BusError::Closed) => return,
            Err(e) => {
                tracing::warn!(%queue, error = %e, "cannot fetch from the queue; trying again");
                tokio::time::sleep(PAUSE).await;
            }
            Ok(fetched) if fetched.leased.is_empty() => {
                let wait = fetched.wait.unwrap_or(PAUSE).min(PAUSE);
                let _ = tokio::time::timeout(wait, changed).await;
            }
            Ok(fetched) => {
                let mut first = Some(first);
                for leased in fetched.leased {
                    let permit = match first.take() {
                        Some(permit) => permit,
                        None => match Arc::clone(&room).acquire_owned().await {
                            Ok(permit) => permit,
                            Err(_) => return,
                        },
                    };
                    let held = Held::new(&owner, leased, permit);
                    if sender.send(held).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// A lease in our hands. Dropped unsettled, it goes back.
struct Held {
    owner: Arc<Owner>,
    seq: i64,
    attempt: u32,
    leased: Option<Leased>,
    seen: bool,
    settled: std::sync::atomic::AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl Held {
    fn new(owner: &Arc<Owner>, leased: Leased, permit: OwnedSemaphorePermit) -> Self {
        Self {
            owner: Arc::clone(owner),
            seq: leased.seq,
            attempt: leased.attempt,
            leased: Some(leased),
            seen: false,
            settled: false.into(),
            _permit: permit,
        }
    }

    async fn end(&self, ending: Ending) -> Result<(), BusError> {
        let (seq, attempt) = (self.seq, self.attempt);
        let result =
            self.owner.ask(|reply| Request::Settle { seq, attempt, ending, reply: Some(reply) }).await;
        if matches!(result, Ok(()) | Err(BusError::NotHeld(_))) {
            self.settled.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        result
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.settled.load(std::sync::atomic::Ordering::Relaxed) {
            self.owner.release(self.seq, self.attempt, self.seen);
        }
    }
}

#[async_trait]
impl Settle for Held {
    async fn ack(&self) -> Result<(), BusError> {
        self.end(Ending::Ack).await
    }

    async fn retry(&self, reason: &str, delay: Duration) -> Result<(), BusError> {
        self.end(Ending::Retry { reason: reason.to_owned(), delay }).await
    }

    async fn dead_letter(&self, reason: &str) -> Result<(), BusError> {
        self.end(Ending::Dead { reason: reason.to_owned() }).await
    }
}
