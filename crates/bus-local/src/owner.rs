use std::{collections::HashMap, sync::Arc, thread::JoinHandle};

use hindsight_ports::{BusError, DeadLetter, Envelope, Queue, QueueStats};
use tokio::sync::{Notify, mpsc, oneshot};
use uuid::Uuid;

use crate::database::{Database, Ending, Fetched, Leased};

/// Most requests that share one transaction.
const GROUP: usize = 256;
/// Requests that may wait for the owner; beyond it callers wait.
const BACKLOG: usize = 1024;

type Reply<T> = oneshot::Sender<Result<T, BusError>>;

pub(crate) enum Request {
    Publish {
        queue: Queue,
        messages: Vec<Envelope>,
        reply: Reply<()>,
    },
    Fetch {
        queue: Queue,
        max: usize,
        reply: Reply<Fetched>,
    },
    Settle {
        seq: i64,
        attempt: u32,
        ending: Ending,
        reply: Option<Reply<()>>,
    },
    Stats {
        queue: Queue,
        reply: Reply<QueueStats>,
    },
    DeadLetters {
        queue: Queue,
        id: Option<Uuid>,
        limit: usize,
        reply: Reply<Vec<DeadLetter>>,
    },
    Replay {
        queue: Queue,
        id: Option<Uuid>,
        reply: Reply<u64>,
    },
    Discard {
        queue: Queue,
        id: Uuid,
        reply: Reply<u64>,
    },
    /// Done after the transaction in which it was asked for.
    Vacuum {
        reply: Reply<()>,
    },
}

/// What to tell the caller once the transaction is on the disk.
type Answer = Box<dyn FnOnce(Result<(), BusError>) + Send>;

/// The thread that owns the database, and the way to talk to it.
#[derive(Debug)]
pub(crate) struct Owner {
    requests: Option<mpsc::Sender<Request>>,
    /// Releases from destructors, which cannot wait.
    releases: mpsc::UnboundedSender<Request>,
    changed: Arc<HashMap<Queue, Notify>>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    pub(crate) fn start(database: Database) -> Result<Self, BusError> {
        let (requests, inbox) = mpsc::channel(BACKLOG);
        let (releases, released) = mpsc::unbounded_channel();
        let changed = Arc::new(Queue::ALL.map(|q| (q, Notify::new())).into_iter().collect());
        let worker = Worker { database, releases: releases.clone(), changed: Arc::clone(&changed) };
        let thread = std::thread::Builder::new()
            .name("bus-local".into())
            .spawn(move || worker.run(inbox, released))
            .map_err(|e| BusError::Unavailable(format!("cannot start the queue thread: {e}")))?;
        Ok(Self { requests: Some(requests), releases, changed, thread: Some(thread) })
    }

    pub(crate) async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, BusError> {
        let (reply, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or(BusError::Closed)?;
        requests.send(request(reply)).await.map_err(|_| BusError::Closed)?;
        answer.await.map_err(|_| BusError::Closed)?
    }

    /// Gives a delivery back without waiting.
    pub(crate) fn release(&self, seq: i64, attempt: u32, seen: bool) {
        let ending = Ending::Release { seen };
        // When the owner is gone the lease goes with it.
        let _ = self.releases.send(Request::Settle { seq, attempt, ending, reply: None });
    }

    pub(crate) fn changed(&self, queue: Queue) -> &Notify {
        &self.changed[&queue]
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the queue thread panicked");
        }
    }
}

struct Worker {
    database: Database,
    releases: mpsc::UnboundedSender<Request>,
    changed: Arc<HashMap<Queue, Notify>>,
}

impl Worker {
    fn run(&self, mut inbox: mpsc::Receiver<Request>, mut released: mpsc::UnboundedReceiver<Request>) {
        let wait = tokio::runtime::Builder::new_current_thread().build();
        let Ok(wait) = wait else {
            tracing::error!("the queue thread cannot wait for requests");
            return;
        };
        loop {
            let first = wait.block_on(async {
                tokio::select! {
                    request = inbox.recv() => request,
                    Some(release) = released.recv() => Some(release),
                }
            });
            let Some(first) = first else { return };
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = inbox.try_recv().or_else(|_| released.try_recv())
            {
                group.push(next);
            }
            self.transaction(group);
        }
    }

    /// Runs the group in one transaction and answers after the commit. A request that is refused (`Full`,
    /// `NotHeld`) changes nothing and does not disturb the others; a failing disk fails the whole group.
    fn transaction(&self, group: Vec<Request>) {
        let begun = self.database.begin();
        let mut answers = Vec::with_capacity(group.len());
        let (mut touched, mut vacuums) = (Vec::new(), Vec::new());
        for request in group {
            if let Request::Vacuum { reply } = request {
                vacuums.push(reply);
                continue;
            }
            touched.extend(wakes(&request));
            answers.push(self.handle(request, begun.clone()));
        }
        let done = begun.and_then(|()| self.database.commit());
        if done.is_err()
            && let Err(e) = self.database.rollback()
        {
            tracing::error!(error = %e, "cannot roll back the queue file");
        }
        for answer in answers {
            answer(done.clone());
        }
        for queue in touched {
            self.changed[&queue].notify_waiters();
        }
        if !vacuums.is_empty() {
            let vacuumed = self.database.vacuum();
            for reply in vacuums {
                // A caller that no longer waits is not an error.
                let _ = reply.send(vacuumed.clone());
            }
        }
    }

    fn handle(&self, request: Request, begun: Result<(), BusError>) -> Answer {
        let d = &self.database;
        match request {
            Request::Publish { queue, messages, reply } => {
                later(reply, begun.and_then(|()| d.publish(queue, &messages)))
            }
            Request::Fetch { queue, max, reply } => {
                self.hand_over(reply, begun.and_then(|()| d.fetch(queue, max)))
            }
            Request::Stats { queue, reply } => later(reply, begun.and_then(|()| d.stats(queue))),
            Request::DeadLetters { queue, id, limit, reply } => {
                later(reply, begun.and_then(|()| d.dead_letters(queue, id, limit)))
            }
            Request::Replay { queue, id, reply } => later(reply, begun.and_then(|()| d.replay(queue, id))),
            Request::Discard { queue, id, reply } => {
                later(reply, begun.and_then(|()| d.discard(queue, Some(id))))
            }
            Request::Vacuum { .. } => Box::new(|_| ()),
            Request::Settle { seq, attempt, ending, reply } => {
                let result = begun.and_then(|()| d.settle(seq, attempt, &ending));
                match reply {
                    Some(reply) => later(reply, result),
                    None => Box::new(|_| ()),
                }
            }
        }
    }

    /// Like `later`, but what a vanished consumer did not take goes back at once.
    fn hand_over(&self, reply: Reply<Fetched>, result: Result<Fetched, BusError>) -> Answer {
        let releases = self.releases.clone();
        Box::new(move |committed| {
            let Err(Ok(fetched)) = reply.send(committed.and(result)) else { return };
            for Leased { seq, attempt, .. } in fetched.leased {
                let ending = Ending::Release { seen: false };
                // Fails only when the owner is gone, and its leases with it.
                let _ = releases.send(Request::Settle { seq, attempt, ending, reply: None });
            }
        })
    }
}

/// Queues in which something may have become ready.
fn wakes(request: &Request) -> Vec<Queue> {
    match request {
        Request::Publish { queue, .. } | Request::Replay { queue, .. } => vec![*queue],
        Request::Settle { ending: Ending::Ack | Ending::Dead { .. }, .. } => Vec::new(),
        Request::Settle { .. } => Queue::ALL.to_vec(),
        _ => Vec::new(),
    }
}

fn later<T: Send + 'static>(reply: Reply<T>, result: Result<T, BusError>) -> Answer {
    // A caller that no longer waits is not an error.
    Box::new(move |committed| drop(reply.send(committed.and(result))))
}
