//! Leadership by a single-active-consumer queue. The broker serves the first candidate only, and the token
//! in the queue tells it so; when its connection ends, the broker gives the token to the next one.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::StreamExt;
use hindsight_ports::{BusError, Leadership};
use lapin::{
    options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, QueueDeclareOptions},
    types::FieldTable,
};
use tokio::{
    sync::watch,
    time::{sleep, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    bus::Shared,
    session::{Session, unavailable},
    topology::leader_arguments,
};

/// A token is exchanged for a new one after this time: a broker closes the channel of a consumer that holds
/// a message for too long (half an hour by default).
const RENEW: Duration = Duration::from_secs(300);
/// Before standing again after trouble.
const PAUSE: Duration = Duration::from_millis(500);

/// The number of the term that this candidate leads in.
type Term = Option<u64>;

pub(crate) struct AmqpLeadership {
    term: watch::Receiver<Term>,
    led: Term,
    _stop: DropGuard,
}

impl AmqpLeadership {
    pub(crate) fn start(shared: Arc<Shared>, name: &str) -> Self {
        let (sender, term) = watch::channel(None);
        let stop = CancellationToken::new();
        let campaign = campaign(shared, name.to_owned(), sender);
        let stopped = stop.clone();
        tokio::spawn(async move { stopped.run_until_cancelled(campaign).await });
        Self { term, led: None, _stop: stop.drop_guard() }
    }
}

#[async_trait]
impl Leadership for AmqpLeadership {
    async fn acquired(&mut self) -> Result<(), BusError> {
        let term = self.term.wait_for(Option::is_some).await.map_err(|_| BusError::Closed)?;
        self.led = *term;
        Ok(())
    }

    async fn lost(&mut self) {
        let Some(led) = self.led else { return };
        // The campaign ends only with this candidate, or with the bus.
        let _ = self.term.wait_for(|term| *term != Some(led)).await;
        self.led = None;
    }
}

async fn campaign(shared: Arc<Shared>, name: String, term: watch::Sender<Term>) {
    let mut number = 0;
    while let Ok(session) = shared.supervisor.session().await {
        number += 1;
        let queue = shared.names.leader(&name);
        if let Err(e) = stand(&session, &queue, number, &term).await {
            tracing::warn!(name, error = %e, "no candidate for the leadership for now");
        }
        if term.send_replace(None).is_some() {
            tracing::warn!(name, "the leadership is lost");
        }
        sleep(PAUSE).await;
    }
}

/// From standing to the end of the term, or of the connection.
async fn stand(
    session: &Session,
    queue: &str,
    number: u64,
    term: &watch::Sender<Term>,
) -> Result<(), BusError> {
    let channel = session.channel().await?;
    channel
        .queue_declare(queue.into(), QueueDeclareOptions::durable(), leader_arguments())
        .await
        .map_err(unavailable)?;
    session.send_token(queue).await?;
    channel.basic_qos(1, BasicQosOptions::default()).await.map_err(unavailable)?;
    let options = BasicConsumeOptions::default();
    let mut tokens = channel
        .basic_consume(queue.into(), "".into(), options, FieldTable::default())
        .await
        .map_err(unavailable)?;
    let lost = || BusError::Unavailable("the connection is lost".into());
    let mut token = tokio::select! {
        token = tokens.next() => token.ok_or_else(lost)?.map_err(unavailable)?,
        () = session.given_up() => return Err(lost()),
    };
    tracing::info!(queue, "the leadership is acquired");
    term.send_replace(Some(number));
    loop {
        let renew = tokio::time::Instant::now() + RENEW;
        tokio::select! {
            // Nothing more is sent to who holds a token: this is an error or the end.
            _ = tokens.next() => return Err(lost()),
            () = session.given_up() => return Err(lost()),
            () = sleep_until(renew) => (),
        }
        session.send_token(queue).await?;
        if !token.ack(BasicAckOptions::default()).await.map_err(unavailable)? {
            return Err(lost());
        }
        token = tokens.next().await.ok_or_else(lost)?.map_err(unavailable)?;
    }
}
