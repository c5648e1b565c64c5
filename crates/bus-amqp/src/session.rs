use std::sync::Arc;

use hindsight_ports::{BusError, Queue};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection,
    options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions},
    types::FieldTable,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    message::Message,
    options::AmqpOptions,
    topology::{self, Names},
};

/// Batches that wait for their confirms at a time; what lapin buffers for a broker that does not read is
/// bounded by it.
const IN_FLIGHT: usize = 128;
/// Messages of one batch that wait for their confirms at a time.
const WINDOW: usize = 512;
/// The delivery mode of what a restart of the broker may lose.
const TRANSIENT: u8 = 1;

pub(crate) fn unavailable(e: lapin::Error) -> BusError {
    BusError::Unavailable(e.to_string())
}

/// Why a message is not on its queue.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The broker said no: the queue is full, or cannot take it now.
    Nacked,
    Failed(BusError),
}

/// One connection with everything declared on it. Once broken it stays so; the supervisor makes another.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    publisher: Channel,
    names: Names,
    broken: CancellationToken,
    in_flight: Semaphore,
}

impl Session {
    pub(crate) async fn open(options: &AmqpOptions, names: &Names) -> Result<Arc<Self>, BusError> {
        let (uri, tls) = options.target().await?;
        let name = format!("hindsight {}", std::process::id());
        let properties = lapin::ConnectionProperties::default().with_connection_name(name.into());
        let runtime = lapin::runtime::default_runtime().map_err(unavailable)?;
        let connection =
            Connection::connect_uri_with_config(uri, properties, tls, runtime).await.map_err(unavailable)?;
        topology::declare(&connection, names, options.max_depth).await.map_err(unavailable)?;
        let publisher = connection.create_channel().await.map_err(unavailable)?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await.map_err(unavailable)?;
        Ok(Arc::new(Self {
            connection,
            publisher,
            names: names.clone(),
            broken: CancellationToken::new(),
            in_flight: Semaphore::new(IN_FLIGHT),
        }))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.broken.is_cancelled()
            && self.connection.status().connected()
            && self.publisher.status().connected()
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// Has the supervisor build everything anew.
    pub(crate) fn give_up(&self, why: &str) {
        if !self.broken.is_cancelled() {
            tracing::warn!(why, "the broker's state is not as it should be; connecting anew");
            self.broken.cancel();
        }
    }

    /// Returns when somebody gave the session up.
    pub(crate) async fn given_up(&self) {
        self.broken.cancelled().await;
    }

    pub(crate) async fn close(&self) {
        self.broken.cancel();
        if let Err(e) = self.connection.close(200, "done".into()).await {
            tracing::debug!(error = %e, "the connection was closed already");
        }
    }

    pub(crate) async fn channel(&self) -> Result<Channel, BusError> {
        self.connection.create_channel().await.map_err(unavailable)
    }

    /// Returns when every message is confirmed to be on the queue of this name.
    pub(crate) async fn publish(&self, to: &str, messages: Vec<Message>) -> Result<(), Refusal> {
        let closed = |_| Refusal::Failed(BusError::Closed);
        let _permit = self.in_flight.acquire().await.map_err(closed)?;
        let exchange = self.names.exchange();
        for window in messages.chunks(WINDOW) {
            let mut confirms = Vec::with_capacity(window.len());
            for Message { properties, payload } in window {
                confirms.push(self.send(&exchange, to, payload, properties.clone()).await?);
            }
            // Every confirm is awaited, also after a refusal: lapin keeps those that are dropped.
            let mut result = Ok(());
            for confirm in confirms {
                result = result.and(self.judge(to, confirm.await));
            }
            result?;
        }
        Ok(())
    }

    async fn send(
        &self,
        exchange: &str,
        to: &str,
        payload: &[u8],
        properties: BasicProperties,
    ) -> Result<lapin::PublisherConfirm, Refusal> {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let sent =
            self.publisher.basic_publish(exchange.into(), to.into(), options, payload, properties).await;
        sent.map_err(|e| Refusal::Failed(unavailable(e)))
    }

    /// Only an acknowledgement that returns nothing is one.
    fn judge(&self, to: &str, confirmation: lapin::Result<Confirmation>) -> Result<(), Refusal> {
        let trouble = match confirmation {
            Ok(Confirmation::Ack(None)) => return Ok(()),
            Ok(Confirmation::Ack(Some(_))) => format!("no queue {to} takes it"),
            Ok(Confirmation::Nack(_)) => return Err(Refusal::Nacked),
            Ok(Confirmation::NotRequested) => "the broker does not confirm".to_owned(),
            Err(e) => return Err(Refusal::Failed(unavailable(e))),
        };
        self.give_up(&trouble);
        Err(Refusal::Failed(BusError::Unavailable(trouble)))
    }

    /// To whoever listens, which may be nobody.
    pub(crate) async fn broadcast(&self, message: Message) -> Result<(), BusError> {
        let _permit = self.in_flight.acquire().await.map_err(|_| BusError::Closed)?;
        let (exchange, options) = (self.names.broadcast(), BasicPublishOptions::default());
        let properties = message.properties.with_delivery_mode(TRANSIENT);
        let to = exchange.as_str().into();
        let sent = self.publisher.basic_publish(to, "".into(), options, &message.payload, properties).await;
        let confirmation = sent.map_err(unavailable)?.await;
        self.judge(&exchange, confirmation).map_err(|refusal| match refusal {
            Refusal::Failed(e) => e,
            Refusal::Nacked => BusError::Unavailable("the broker refuses what is told to all".into()),
        })
    }

    /// A leadership token: to a queue by its name, without the exchange.
    pub(crate) async fn send_token(&self, to: &str) -> Result<(), BusError> {
        let properties = BasicProperties::default().with_delivery_mode(2);
        let sent = async { self.judge(to, self.send("", to, &[], properties).await?.await) };
        sent.await.map_err(|refusal| match refusal {
            Refusal::Failed(e) => e,
            Refusal::Nacked => BusError::Unavailable("the leadership token is refused".into()),
        })
    }

    /// Messages that are ready in a queue.
    pub(crate) async fn count(&self, channel: &Channel, name: &str) -> Result<u64, BusError> {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        match channel.queue_declare(name.into(), passive, FieldTable::default()).await {
            Ok(queue) => Ok(queue.message_count().into()),
            Err(e) => {
                if topology::is_amqp(&e, 404) {
                    self.give_up(&format!("the queue {name} is gone"));
                }
                Err(unavailable(e))
            }
        }
    }

    /// Says of a refusal what it means for a queue whose limit is `max_depth`.
    pub(crate) async fn explain(&self, queue: Queue, refusal: Refusal, max_depth: u64) -> BusError {
        if let Refusal::Failed(e) = refusal {
            return e;
        }
        let depth = async { self.count(&self.channel().await?, &self.names.work(queue)).await };
        match depth.await {
            // A full queue takes messages again when a fifth is consumed.
            Ok(depth) if depth >= max_depth - max_depth / 5 => BusError::Full { queue, depth },
            Ok(depth) => {
                BusError::Unavailable(format!("the broker refuses messages for {queue} ({depth} in it)"))
            }
            Err(e) => e,
        }
    }
}
