use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::{FutureExt, StreamExt};
use hindsight_ports::{BusError, Consumer, Delivery, Queue};
use lapin::{
    Channel,
    options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions},
    types::FieldTable,
};
use tokio::{sync::mpsc, time::sleep};

use crate::{
    bus::Shared,
    message,
    session::{Session, unavailable},
    settle::{Held, Lease},
};

/// Before consuming again after trouble.
const PAUSE: Duration = Duration::from_millis(200);

/// A task of its own takes deliveries off the channel, so that dropping a waiting `next` loses nothing, and
/// so that an outage is its affair alone.
pub(crate) struct AmqpConsumer {
    deliveries: mpsc::Receiver<Lease>,
}

impl AmqpConsumer {
    pub(crate) fn start(shared: Arc<Shared>, queue: Queue, prefetch: usize) -> Self {
        let prefetch = u16::try_from(prefetch).unwrap_or(u16::MAX);
        let (sender, deliveries) = mpsc::channel(prefetch.into());
        tokio::spawn(run(shared, queue, prefetch, sender));
        Self { deliveries }
    }
}

#[async_trait]
impl Consumer for AmqpConsumer {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        loop {
            let lease = self.deliveries.recv().await.ok_or(BusError::Closed)?;
            // What was fetched before a connection was lost is delivered again on the next one.
            if lease.is_live() {
                return Ok(Held::deliver(lease));
            }
        }
    }
}

async fn run(shared: Arc<Shared>, queue: Queue, prefetch: u16, out: mpsc::Sender<Lease>) {
    loop {
        let session = tokio::select! {
            () = out.closed() => return,
            session = shared.supervisor.session() => match session {
                Ok(session) => session,
                Err(_) => return,
            },
        };
        match consume(&shared, &session, queue, prefetch, &out).await {
            Ok(()) => return,
            Err(e) => tracing::warn!(%queue, error = %e, "consuming was interrupted; it goes on by itself"),
        }
        sleep(PAUSE).await;
    }
}

/// Hands deliveries on until the consumer is dropped (`Ok`) or the channel is lost.
async fn consume(
    shared: &Arc<Shared>,
    session: &Arc<Session>,
    queue: Queue,
    prefetch: u16,
    out: &mpsc::Sender<Lease>,
) -> Result<(), BusError> {
    let channel = session.channel().await?;
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.map_err(unavailable)?;
    let name = shared.names.work(queue);
    let options = BasicConsumeOptions::default();
    let mut deliveries = channel
        .basic_consume(name.as_str().into(), "".into(), options, FieldTable::default())
        .await
        .map_err(unavailable)?;
    loop {
        let delivery = tokio::select! {
            () = out.closed() => break,
            () = session.given_up() => return Err(BusError::Unavailable("the connection is lost".into())),
            delivery = deliveries.next() => delivery,
        };
        match delivery {
            Some(Ok(delivery)) => hand_on(shared, session, &channel, queue, delivery, out).await,
            Some(Err(e)) => return Err(unavailable(e)),
            None => {
                if channel.status().connected() {
                    session.give_up(&format!("the broker ended the consumer of {name}"));
                }
                return Err(BusError::Unavailable("the consumer was ended".into()));
            }
        }
    }
    // What was not handed on goes back; the channel stays open for what is still held.
    channel.basic_cancel(deliveries.tag(), BasicCancelOptions::default()).await.map_err(unavailable)?;
    while let Some(Some(Ok(delivery))) = deliveries.next().now_or_never() {
        hand_on(shared, session, &channel, queue, delivery, out).await;
    }
    Ok(())
}

/// To the consumer; a message that is none of ours to the dead letters.
async fn hand_on(
    shared: &Arc<Shared>,
    session: &Arc<Session>,
    channel: &Channel,
    queue: Queue,
    delivery: lapin::message::Delivery,
    out: &mpsc::Sender<Lease>,
) {
    shared.note_delivery(queue, message::published_at(&delivery.properties));
    match message::decode(&delivery.properties, &delivery.data) {
        Ok((envelope, past)) => {
            let lease = Lease::new(shared, session, channel, queue, delivery.acker, envelope, past);
            // A lease that nobody takes gives its message back.
            let _ = out.send(lease).await;
        }
        Err(why) => {
            tracing::error!(%queue, why, "a message that is not of Hindsight goes to the dead letters");
            if let Err(e) = delivery.acker.reject(BasicRejectOptions { requeue: false }).await {
                tracing::warn!(%queue, error = %e, "it could not be set aside and comes again");
            }
        }
    }
}
