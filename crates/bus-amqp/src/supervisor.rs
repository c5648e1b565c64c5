//! Keeps a session with the broker. lapin's own recovery is not used: whatever goes wrong, everything is
//! built anew in one place, and readiness follows it.

use std::{sync::Arc, time::Duration};

use backon::BackoffBuilder;
use futures::StreamExt;
use hindsight_ports::BusError;
use lapin::Event;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{options::AmqpOptions, session::Session, topology::Names};

/// Connecting and declaring everything, on a broker that just started and is busy.
const CONNECT: Duration = Duration::from_secs(30);
/// A session that lived this long starts the pauses anew.
const STABLE: Duration = Duration::from_secs(5);
/// Between two looks at a connection of which no event told.
const LOOK: Duration = Duration::from_millis(500);
/// For saying goodbye.
const CLOSE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) enum State {
    /// And why.
    Down(String),
    Up(Arc<Session>),
}

/// The supervisor as others see it. Dropped, it ends the supervisor and the connection.
#[derive(Debug)]
pub(crate) struct Supervisor {
    state: watch::Receiver<State>,
    _stop: DropGuard,
}

impl Supervisor {
    pub(crate) fn start(options: AmqpOptions, names: Names) -> Self {
        let (sender, state) = watch::channel(State::Down("not connected yet".into()));
        let stop = CancellationToken::new();
        tokio::spawn(run(options, names, sender, stop.clone()));
        Self { state, _stop: stop.drop_guard() }
    }

    /// Waits for a session, as long as it takes.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, BusError> {
        let mut state = self.state.clone();
        loop {
            if let State::Up(session) = &*state.borrow_and_update()
                && session.is_live()
            {
                return Ok(Arc::clone(session));
            }
            state.changed().await.map_err(|_| BusError::Closed)?;
        }
    }

    /// The session there is now; else why there is none.
    pub(crate) fn current(&self) -> Result<Arc<Session>, BusError> {
        self.ready()?;
        match &*self.state.borrow() {
            State::Up(session) => Ok(Arc::clone(session)),
            State::Down(why) => Err(BusError::Unavailable(why.clone())),
        }
    }

    pub(crate) fn ready(&self) -> Result<(), BusError> {
        match &*self.state.borrow() {
            State::Down(why) => Err(BusError::Unavailable(why.clone())),
            State::Up(session) if session.is_blocked() => Err(BusError::Unavailable(
                "the broker takes no messages: its memory or disk is used up".into(),
            )),
            State::Up(session) if session.is_live() => Ok(()),
            State::Up(_) => Err(BusError::Unavailable("the connection is lost".into())),
        }
    }
}

fn pauses() -> impl Iterator<Item = Duration> + Send {
    backon::ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(5))
        .with_jitter()
        .without_max_times()
        .build()
}

async fn run(options: AmqpOptions, names: Names, state: watch::Sender<State>, stop: CancellationToken) {
    let work = async {
        let mut pause = pauses();
        loop {
            let started = Instant::now();
            let why = attend(&options, &names, &state).await;
            if started.elapsed() > STABLE {
                pause = pauses();
            }
            let wait = pause.next().unwrap_or(STABLE);
            tracing::warn!(why, ?wait, "no connection to the broker");
            state.send_replace(State::Down(why));
            sleep(wait).await;
        }
    };
    // The work never ends by itself.
    let _: Option<()> = stop.run_until_cancelled(work).await;
    if let State::Up(session) = state.send_replace(State::Down("closed".into())) {
        let _ = timeout(CLOSE, session.close()).await;
    }
}

/// One session from connecting to its loss, and why it was lost.
async fn attend(options: &AmqpOptions, names: &Names, state: &watch::Sender<State>) -> String {
    let session = match timeout(CONNECT, Session::open(options, names)).await {
        Ok(Ok(session)) => session,
        Ok(Err(BusError::Unavailable(why))) => return why,
        Ok(Err(e)) => return e.to_string(),
        Err(_) => return "the broker does not answer".to_owned(),
    };
    let mut events = Box::pin(session.connection().events_listener());
    tracing::info!("connected to the broker");
    state.send_replace(State::Up(Arc::clone(&session)));
    let mut why = "the connection is lost".to_owned();
    while session.is_live() {
        tokio::select! {
            event = events.next() => match event {
                Some(Event::Error(e)) => why = e.to_string(),
                Some(Event::ConnectionBlocked(reason)) => {
                    tracing::warn!(reason, "the broker takes no messages for now");
                }
                Some(_) => (),
                None => sleep(LOOK).await,
            },
            () = session.given_up() => why = "a part of the broker's state was lost".to_owned(),
            () = sleep(LOOK) => (),
        }
    }
    session.give_up(&why);
    let _ = timeout(CLOSE, session.close()).await;
    why
}
