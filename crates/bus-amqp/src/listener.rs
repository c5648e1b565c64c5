//! Hearing what is told to all. A queue of a listener's own is bound to the fan-out exchange; no message on it
//! is worth keeping for long, but a listener must know within a second when it may have missed one. A
//! connection can be dead for many seconds before anything notices, and a broker drops what is too old or too
//! much without a word. So the listener sends itself an echo through its own queue. A queue keeps its order:
//! when an echo comes back, all that was told before it was sent has come, or was dropped.
//!
//! - Its lease on what it knows ends [`LEASE`] after the newest echo that came back was sent. Messages that
//!   expire ([`LISTENER_TTL`]) waited for longer than that, and so did the echo behind them.
//! - A queue that overflows holds [`LISTENER_LENGTH`] messages. Within a lease at most five echoes are sent,
//!   so that more than [`FLOOD`] of them come between two echoes. That ends the lease, too.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::StreamExt;
use hindsight_ports::{BusError, Heard, Listener};
use lapin::{
    BasicProperties, Channel,
    message::Delivery,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions},
    types::FieldTable,
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};
use uuid::Uuid;

use crate::{
    bus::Shared,
    message,
    session::{Session, unavailable},
    topology::{self, LISTENER_LENGTH, LISTENER_TTL},
};

/// Between two echoes.
const ECHO: Duration = Duration::from_millis(200);
/// See above. Below the second that is promised.
const LEASE: Duration = Duration::from_millis(800);
/// See above.
const FLOOD: u64 = 512;
/// Messages on their way from the broker at a time.
const PREFETCH: u16 = 256;
/// Messages that wait to be taken.
const TAKEN: usize = 256;
/// Before listening again after trouble.
const PAUSE: Duration = Duration::from_millis(200);

const _: () = assert!(LISTENER_LENGTH > 6 * FLOOD && LISTENER_TTL.as_millis() > LEASE.as_millis());

pub(crate) struct AmqpListener {
    heard: mpsc::Receiver<Heard>,
}

impl AmqpListener {
    pub(crate) fn start(shared: Arc<Shared>) -> Self {
        let (out, heard) = mpsc::channel(TAKEN);
        tokio::spawn(run(shared, Ear { out, live: false }));
        Self { heard }
    }
}

#[async_trait]
impl Listener for AmqpListener {
    async fn next(&mut self) -> Result<Heard, BusError> {
        self.heard.recv().await.ok_or(BusError::Closed)
    }
}

/// The listener is gone.
struct Gone;

/// Who is told, and whether it believes that it hears everything.
struct Ear {
    out: mpsc::Sender<Heard>,
    live: bool,
}

impl Ear {
    async fn tell(&mut self, heard: Heard) -> Result<(), Gone> {
        self.out.send(heard).await.map_err(|_| Gone)
    }

    async fn joined(&mut self) -> Result<(), Gone> {
        if std::mem::replace(&mut self.live, true) { Ok(()) } else { self.tell(Heard::Joined).await }
    }

    async fn lost(&mut self) -> Result<(), Gone> {
        if std::mem::replace(&mut self.live, false) { self.tell(Heard::Lost).await } else { Ok(()) }
    }
}

async fn run(shared: Arc<Shared>, mut ear: Ear) {
    loop {
        let session = tokio::select! {
            () = ear.out.closed() => return,
            session = shared.supervisor.session() => match session {
                Ok(session) => session,
                Err(_) => return,
            },
        };
        match listen(&shared, &session, &mut ear).await {
            Ok(Gone) => return,
            // With a sound connection, something that was declared is not there any more.
            Err(e) if session.is_live() => session.give_up(&format!("listening ended: {e}")),
            Err(e) => tracing::warn!(error = %e, "listening was interrupted; it goes on by itself"),
        }
        if ear.lost().await.is_err() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Until the listener is dropped, or the channel is lost.
async fn listen(shared: &Shared, session: &Session, ear: &mut Ear) -> Result<Gone, BusError> {
    let channel = session.channel().await?;
    let queue = shared.names.listener(Uuid::new_v4());
    topology::declare_listener(&channel, &shared.names, &queue).await.map_err(unavailable)?;
    channel.basic_qos(PREFETCH, BasicQosOptions::default()).await.map_err(unavailable)?;
    let options = BasicConsumeOptions::default();
    let consuming = channel.basic_consume(queue.as_str().into(), "".into(), options, FieldTable::default());
    let mut deliveries = consuming.await.map_err(unavailable)?;

    let began = Instant::now();
    let mut hearing = Hearing { ear, began, until: began, since_echo: 0 };
    let echoes = echo(&channel, &queue, began);
    tokio::pin!(echoes);
    let lost = || BusError::Unavailable("the connection is lost".into());
    let ended = loop {
        let told = tokio::select! {
            biased;
            () = hearing.ear.out.closed() => break Gone,
            () = session.given_up() => return Err(lost()),
            () = sleep_until(hearing.until), if hearing.ear.live => hearing.ear.lost().await,
            failed = &mut echoes => return Err(failed),
            delivery = deliveries.next() => {
                hearing.take(delivery.ok_or_else(lost)?.map_err(unavailable)?).await?
            }
        };
        if let Err(gone) = told {
            break gone;
        }
    };
    // The queue ends with its consumer.
    channel.close(200, "done".into()).await.map_err(unavailable)?;
    Ok(ended)
}

/// Sends the time since `began` to this queue alone, again and again.
async fn echo(channel: &Channel, queue: &str, began: Instant) -> BusError {
    let mut ticks = interval(ECHO);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let sent = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).to_be_bytes();
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        if let Err(e) = channel.basic_publish("".into(), queue.into(), options, &sent, properties).await {
            return unavailable(e);
        }
    }
}

struct Hearing<'a> {
    ear: &'a mut Ear,
    began: Instant,
    /// When the lease ends.
    until: Instant,
    since_echo: u64,
}

impl Hearing<'_> {
    async fn take(&mut self, delivery: Delivery) -> Result<Result<(), Gone>, BusError> {
        delivery.acker.ack(BasicAckOptions::default()).await.map_err(unavailable)?;
        // Only an echo comes without an exchange: nobody else can know the name of the queue.
        if delivery.exchange.as_str().is_empty() {
            return Ok(self.echoed(&delivery.data).await);
        }
        self.since_echo += 1;
        if self.since_echo > FLOOD {
            return Ok(self.ear.lost().await);
        }
        if !self.ear.live {
            return Ok(Ok(()));
        }
        match message::decode(&delivery.properties, &delivery.data) {
            Ok((envelope, _)) => Ok(self.ear.tell(Heard::Message(envelope)).await),
            Err(why) => {
                tracing::warn!(why, "a message that is not of Hindsight is told to all");
                Ok(Ok(()))
            }
        }
    }

    async fn echoed(&mut self, sent: &[u8]) -> Result<(), Gone> {
        let Ok(sent) = sent.try_into().map(u64::from_be_bytes) else { return Ok(()) };
        self.until = self.began + Duration::from_micros(sent).min(self.began.elapsed()) + LEASE;
        self.since_echo = 0;
        if self.until > Instant::now() { self.ear.joined().await } else { Ok(()) }
    }
}
