//! A memory that speaks up, for agents: ask, and be answered in time, or with silence.

use std::time::Duration;

use hindsight_proto::{
    common::v1::{FeedbackVerdict, OutcomeStatus},
    recall::v1::{
        AfterCall, BeforeCall, Reminder, ReminderFeedback, Silence, SilenceReason, UserMessage, WatchEnd,
        WatchRejection, WatchRequest, WatchResponse, WatchStart, watch_request::Event, watch_response::Said,
    },
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::{Client, Error, Violation};

/// Default for [`Watcher::within`].
const WITHIN: Duration = Duration::from_secs(2);
/// A memory that was away is not asked again for so long, so that it costs the agent nothing.
const AWAY: Duration = Duration::from_secs(5);

/// Tells the memory what an agent is about to do, and hears its reminders. A memory that is away, late or closed to this
/// caller is silent, and is heard again later; only an event that is wrong is an error.
#[derive(Debug)]
pub struct Watcher {
    client: Client,
    start: WatchStart,
    within: Duration,
    stream: Option<Open>,
    away_until: Option<Instant>,
    silence: Option<Silence>,
}

#[derive(Debug)]
struct Open {
    events: mpsc::Sender<WatchRequest>,
    answers: Streaming<WatchResponse>,
    sequence: u64,
    opening: Option<Reminder>,
}

impl Client {
    /// A watch over one task. Connects with the first event.
    pub fn watcher(&self, start: WatchStart) -> Watcher {
        Watcher { client: self.clone(), start, within: WITHIN, stream: None, away_until: None, silence: None }
    }
}

impl Watcher {
    /// Time that an answer may take; after that it is silence.
    #[must_use]
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Begins the task, and brings what is remembered of its goal. Also done by the first event.
    pub async fn start(&mut self) -> Result<Option<Reminder>, Error> {
        self.ask(None).await
    }

    /// A tool is about to be called: is that known to fail?
    pub async fn before_call(&mut self, tool: &str, arguments: &str) -> Result<Option<Reminder>, Error> {
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        self.ask(Some(Event::BeforeCall(BeforeCall { tool, arguments, ..BeforeCall::default() }))).await
    }

    /// A call came back, or failed: how was the same failure solved before?
    pub async fn after_call(
        &mut self,
        tool: &str,
        arguments: &str,
        result: Result<&str, &str>,
    ) -> Result<Option<Reminder>, Error> {
        let (Ok(output) | Err(output)) = result;
        let event = AfterCall {
            call_id: String::new(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            failed: result.is_err(),
            output: output.to_owned(),
        };
        self.ask(Some(Event::AfterCall(event))).await
    }

    /// The user said something; a question whether something is remembered is answered.
    pub async fn message(&mut self, text: &str) -> Result<Option<Reminder>, Error> {
        self.ask(Some(Event::Message(UserMessage { text: text.to_owned() }))).await
    }

    /// What became of a reminder.
    pub async fn feedback(
        &mut self,
        reminder_id: &str,
        verdict: FeedbackVerdict,
        note: &str,
    ) -> Result<(), Error> {
        let (reminder_id, note) = (reminder_id.to_owned(), note.to_owned());
        let event = ReminderFeedback { reminder_id, verdict: verdict.into(), note };
        self.ask(Some(Event::Feedback(event))).await.map(drop)
    }

    /// The task ended.
    pub async fn end(mut self, outcome: OutcomeStatus) {
        if self.stream.is_some() {
            // Heard or not, it ends here.
            let _ = self.ask(Some(Event::End(WatchEnd { outcome: outcome.into() }))).await;
        }
    }

    /// Why nothing was said last; `None` when something was.
    pub fn silence(&self) -> Option<&Silence> {
        self.silence.as_ref()
    }

    async fn ask(&mut self, event: Option<Event>) -> Result<Option<Reminder>, Error> {
        if self.away_until.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        let within = self.within;
        let problem = match timeout(within, self.exchange(event)).await {
            Ok(Ok(said)) => return self.said(said),
            Ok(Err(e)) if e.code == Code::InvalidArgument => return Err(e),
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("no answer within {} s", within.as_secs_f32()),
        };
        tracing::debug!("the watch is silent: {problem}");
        self.stream = None;
        self.away_until = Some(Instant::now() + AWAY);
        self.silence = Some(Silence {
            reason: SilenceReason::Unavailable.into(),
            words: problem,
            receipt_id: String::new(),
        });
        Ok(None)
    }

    fn said(&mut self, said: Said) -> Result<Option<Reminder>, Error> {
        match said {
            Said::Reminder(reminder) => {
                self.silence = None;
                Ok(Some(reminder))
            }
            Said::Silence(silence) => {
                self.silence = Some(silence);
                Ok(None)
            }
            Said::Rejection(rejection) => Err(rejected(rejection)),
        }
    }

    async fn exchange(&mut self, event: Option<Event>) -> Result<Said, Error> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let (open, said) = Open::start(&self.client, self.start.clone()).await?;
                let stream = self.stream.insert(open);
                if event.is_none() {
                    return Ok(said);
                }
                stream
            }
        };
        match event {
            Some(event) => stream.exchange(event).await,
            None => {
                Ok(stream.opening.clone().map_or_else(|| Said::Silence(Silence::default()), Said::Reminder))
            }
        }
    }
}

impl Open {
    async fn start(client: &Client, start: WatchStart) -> Result<(Self, Said), Error> {
        let (events, outgoing) = mpsc::channel(1);
        let first = WatchRequest { sequence: 1, event: Some(Event::Start(start)) };
        // The channel has room for it.
        let _ = events.send(first).await;
        let answers = client.watch(ReceiverStream::new(outgoing)).await?;
        let mut open = Self { events, answers, sequence: 1, opening: None };
        let said = open.answer().await?;
        match &said {
            Said::Rejection(rejection) => return Err(rejected(rejection.clone())),
            Said::Reminder(reminder) => open.opening = Some(reminder.clone()),
            Said::Silence(_) => {}
        }
        Ok((open, said))
    }

    async fn exchange(&mut self, event: Event) -> Result<Said, Error> {
        self.sequence += 1;
        let request = WatchRequest { sequence: self.sequence, event: Some(event) };
        self.events.send(request).await.map_err(|_| ended())?;
        self.answer().await
    }

    /// The answer to the last event. Answers to events whose asker went away stand before it.
    async fn answer(&mut self) -> Result<Said, Error> {
        loop {
            let answer = self.answers.message().await?.ok_or_else(ended)?;
            if answer.in_reply_to == self.sequence {
                return answer.said.ok_or_else(ended);
            }
        }
    }
}

fn ended() -> Error {
    Error::from(Status::unavailable("the server ended the watch"))
}

fn rejected(rejection: WatchRejection) -> Error {
    let WatchRejection { reason, message, fields } = rejection;
    let violation = |field| Violation { field, problem: message.clone() };
    Error {
        violations: fields.into_iter().map(violation).collect(),
        ..Error::invalid(reason, message.clone())
    }
}
