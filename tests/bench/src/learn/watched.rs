//! Hindsight as a memory that is told of each call, and speaks up.

use futures::channel::mpsc;
use hindsight_client::Client;
use hindsight_proto::recall::v1::{
    AfterCall, BeforeCall, SilenceReason, WatchRequest, WatchResponse, WatchStart, watch_request::Event,
    watch_response::Said,
};
use tokio::runtime::Handle;

use crate::{
    submit,
    world::{
        advice::{self, Advice},
        catalog::Practice,
        ears::Ears,
        task::Task,
    },
};

/// As submitted runs name it.
const TOOL: &str = "bash";

/// The stream of one task.
pub(crate) struct Watched {
    events: mpsc::Sender<WatchRequest>,
    answers: tonic::Streaming<WatchResponse>,
    practice: &'static Practice,
    /// Ids of what was said.
    reminders: Vec<String>,
    /// The first thing that went wrong: the agent cannot tell.
    broken: Option<anyhow::Error>,
}

impl Watched {
    /// Opens the stream with the words of the report, in the environment of the task; and what is said to it.
    pub(crate) async fn open(client: &Client, task: &Task) -> anyhow::Result<(Self, Vec<Advice>)> {
        let (events, sent) = mpsc::channel(1);
        let answers = client.watch(sent).await?;
        let practice = task.fault.practice();
        let mut stream = Self { events, answers, practice, reminders: Vec::new(), broken: None };
        let start = WatchStart {
            trace_id: submit::name(task),
            goal: task.report.clone(),
            environment: Some(submit::environment(task)),
            ..WatchStart::default()
        };
        let told = stream.tell(Event::Start(start)).await?;
        Ok((stream, told))
    }

    /// The reminders that shaped the run.
    pub(crate) fn close(self) -> anyhow::Result<Vec<String>> {
        self.broken.map_or(Ok(self.reminders), Err)
    }

    async fn tell(&mut self, event: Event) -> anyhow::Result<Vec<Advice>> {
        self.events.try_send(WatchRequest { sequence: 0, event: Some(event) })?;
        let answer = self.answers.message().await?;
        match answer.and_then(|answer| answer.said) {
            Some(Said::Reminder(reminder)) => {
                self.reminders.push(reminder.reminder_id);
                Ok(advice::of_block(&reminder.block, self.practice))
            }
            Some(Said::Silence(silence)) if silence.reason() != SilenceReason::Unavailable => Ok(Vec::new()),
            other => anyhow::bail!("the memory did not answer: {other:?}"),
        }
    }

    fn hear(&mut self, event: Event) -> Vec<Advice> {
        let told = tokio::task::block_in_place(|| Handle::current().block_on(self.tell(event)));
        told.unwrap_or_else(|error| {
            self.broken.get_or_insert(error);
            Vec::new()
        })
    }
}

impl Ears for Watched {
    fn before(&mut self, command: &str) -> Vec<Advice> {
        let (tool, arguments) = (TOOL.to_owned(), command.to_owned());
        self.hear(Event::BeforeCall(BeforeCall { tool, arguments, ..BeforeCall::default() }))
    }

    fn after(&mut self, command: &str, output: &str) -> Vec<Advice> {
        let (tool, arguments, output) = (TOOL.to_owned(), command.to_owned(), output.to_owned());
        let call = AfterCall { tool, arguments, output, failed: true, ..AfterCall::default() };
        self.hear(Event::AfterCall(call))
    }
}
