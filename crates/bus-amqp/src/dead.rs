//! Dead letters wait on a queue of their own. A broker has no way to look into a queue, so they are taken
//! from it without acknowledgement and put back. One process does so at a time: it holds an exclusive
//! queue, which ends with its connection.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::StreamExt;
use hindsight_ports::{BusError, DeadLetter, Queue};
use lapin::{
    Acker, Channel,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions,
        QueueDeclareOptions, QueueDeleteOptions,
    },
    types::{AMQPValue, FieldTable, ShortString},
};
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    bus::Shared,
    message::{self, Past},
    session::{Session, unavailable},
    topology::is_amqp,
};

/// Letters that are looked at, the oldest ones. The rest shows when these are replayed or discarded.
const MOST: u64 = 10_000;
/// Between two looks at something that another has, or that the broker has not done yet.
const PAUSE: Duration = Duration::from_millis(20);
/// A look that was broken off leaves its lock behind for this long, milliseconds.
const FORGOTTEN: i32 = 120_000;
const RESOURCE_LOCKED: u16 = 405;

/// A look through the dead letters of one queue. They must be put back.
struct Look {
    session: Arc<Session>,
    channel: Channel,
    queue: Queue,
    tag: ShortString,
    /// Not taken from it yet.
    left: u64,
    deliveries: lapin::Consumer,
    kept: u64,
    lock: String,
}

impl Look {
    async fn begin(shared: &Shared, queue: Queue) -> Result<Self, BusError> {
        let session = shared.supervisor.session().await?;
        let (channel, lock) = lock(&session, &shared.names.lock(queue)).await?;
        let name = shared.names.dead(queue);
        let left = session.count(&channel, &name).await?.min(MOST);
        let window = u16::try_from(left.max(1)).unwrap_or(u16::MAX);
        channel.basic_qos(window, BasicQosOptions::default()).await.map_err(unavailable)?;
        let (name, options) = (name.as_str().into(), BasicConsumeOptions::default());
        let deliveries = channel
            .basic_consume(name, "".into(), options, FieldTable::default())
            .await
            .map_err(unavailable)?;
        Ok(Self { session, channel, queue, tag: deliveries.tag(), left, deliveries, kept: 0, lock })
    }

    /// Oldest first.
    async fn next(&mut self) -> Result<Option<(DeadLetter, Acker)>, BusError> {
        while self.left > 0 {
            self.left -= 1;
            let lost = || BusError::Unavailable("the connection is lost".into());
            let delivery = self.deliveries.next().await.ok_or_else(lost)?.map_err(unavailable)?;
            self.kept += 1;
            if let Some(letter) = message::dead_letter(self.queue, &delivery.properties, &delivery.data) {
                return Ok(Some((letter, delivery.acker)));
            }
        }
        Ok(None)
    }

    async fn remove(&mut self, acker: &Acker) -> Result<(), BusError> {
        self.kept -= 1;
        match acker.ack(BasicAckOptions::default()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(BusError::Unavailable("the connection is lost".into())),
            Err(e) => Err(unavailable(e)),
        }
    }

    /// Puts everything back in its place and lets others look.
    async fn end(self, dead: &str) -> Result<(), BusError> {
        self.channel.basic_cancel(self.tag, BasicCancelOptions::default()).await.map_err(unavailable)?;
        // Tag 0 with `multiple`: all that this channel holds.
        let all = BasicNackOptions { multiple: true, requeue: true };
        self.channel.basic_nack(0, all).await.map_err(unavailable)?;
        while self.session.count(&self.channel, dead).await? < self.kept {
            sleep(PAUSE).await;
        }
        let options = QueueDeleteOptions::default();
        self.channel.queue_delete(self.lock.as_str().into(), options).await.map_err(unavailable)?;
        Ok(())
    }
}

/// Waits for the lock. Answers the channel it was taken on, for a refusal costs the channel.
async fn lock(session: &Session, name: &str) -> Result<(Channel, String), BusError> {
    let mut arguments = FieldTable::default();
    arguments.insert("x-expires".into(), AMQPValue::LongInt(FORGOTTEN));
    loop {
        let channel = session.channel().await?;
        let options = QueueDeclareOptions { exclusive: true, ..Default::default() };
        match channel.queue_declare(name.into(), options, arguments.clone()).await {
            Ok(_) => return Ok((channel, name.to_owned())),
            Err(e) if is_amqp(&e, RESOURCE_LOCKED) => sleep(PAUSE).await,
            Err(e) => return Err(unavailable(e)),
        }
    }
}

fn wanted(letter: &DeadLetter, id: Option<Uuid>) -> bool {
    id.is_none_or(|id| letter.envelope.id == id)
}

impl Shared {
    /// Newest first.
    pub(crate) async fn show(
        &self,
        queue: Queue,
        id: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        let _alone = self.browsing.lock().await;
        let mut look = Look::begin(self, queue).await?;
        let mut newest = VecDeque::new();
        while let Some((letter, _)) = look.next().await? {
            if wanted(&letter, id) {
                newest.push_front(letter);
                newest.truncate(limit);
            }
        }
        look.end(&self.names.dead(queue)).await?;
        Ok(newest.into())
    }

    pub(crate) async fn discard(&self, queue: Queue, id: Uuid) -> Result<u64, BusError> {
        let _alone = self.browsing.lock().await;
        let mut look = Look::begin(self, queue).await?;
        let mut gone = 0;
        while let Some((letter, acker)) = look.next().await? {
            if wanted(&letter, Some(id)) {
                look.remove(&acker).await?;
                gone += 1;
            }
        }
        look.end(&self.names.dead(queue)).await?;
        Ok(gone)
    }

    /// Each letter is on its queue before it is no longer dead, so a crash between may double it. The time
    /// limit is that of each letter.
    pub(crate) async fn replay(&self, queue: Queue, id: Option<Uuid>) -> Result<u64, BusError> {
        let _alone = self.within(async { Ok(self.browsing.lock().await) }).await?;
        let mut look = self.within(Look::begin(self, queue)).await?;
        let mut replayed = 0;
        let mut result = Ok(());
        while let Some((letter, acker)) = self.within(look.next()).await? {
            if !wanted(&letter, id) {
                continue;
            }
            result = self.put_back(&look.session, letter).await;
            if result.is_err() {
                break;
            }
            self.within(look.remove(&acker)).await?;
            replayed += 1;
        }
        self.within(look.end(&self.names.dead(queue))).await?;
        result.map(|()| replayed)
    }

    async fn put_back(&self, session: &Arc<Session>, letter: DeadLetter) -> Result<(), BusError> {
        let past = Past { history: letter.history, ..Past::default() };
        let message = message::encode(&letter.envelope, &past, self.options.clock.now())?;
        match self.publish(session, &self.names.work(letter.queue), vec![message]).await? {
            Ok(()) => Ok(()),
            Err(refusal) => {
                let max_depth = self.options.max_depth;
                self.within(async { Err(session.explain(letter.queue, refusal, max_depth).await) }).await
            }
        }
    }
}
