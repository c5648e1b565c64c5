//! `hindsight watch`: events as JSON lines on standard input, what is remembered about them on standard output.

mod events;
mod hook;
mod lines;

use std::time::Duration;

use futures::channel::mpsc;
use hindsight_client::Client;
use hindsight_proto::{
    common::v1::Environment,
    recall::v1::{
        SilenceReason, WatchRejection, WatchRequest, WatchResponse, WatchStart, watch_request::Event,
        watch_response::Said,
    },
};
use hindsight_wiring::Failure;
use tokio::{io::BufReader, time::timeout};

use self::{events::Told, hook::Hook, lines::LINE_BYTES};
use crate::{context::Context, ui::Ui};

/// Events on their way; each is answered before the next is sent.
const ON_THE_WAY: usize = 1;
/// For the server to end the stream, once everything is answered.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in words. These options begin the task unless the first line is its `start`. With hooks it
    /// is asked about at `SessionStart`.
    #[arg(long)]
    goal: Option<String>,
    /// The person the agent works for; opens this user's memories.
    #[arg(long)]
    user: Option<String>,
    /// The agent that asks; opens what is limited to it.
    #[arg(long)]
    agent: Option<String>,
    /// Kind of task; opens what is limited to it.
    #[arg(long)]
    task_type: Option<String>,
    /// The agent's own name for the run: feedback becomes evidence with it.
    #[arg(long, value_name = "TRACE_ID")]
    trace: Option<String>,
    /// Conversation that the task belongs to.
    #[arg(long)]
    session: Option<String>,
    /// Where the agent runs, as in docker or k8s. May be given several times.
    #[arg(long, value_name = "TAG")]
    env: Vec<String>,
    /// Language of a reminder's own words; that of the goal by default.
    #[arg(long, value_parser = ["en", "zh"])]
    language: Option<String>,
    /// Most reminders.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    reminders: u32,
}

impl Args {
    fn start(self) -> WatchStart {
        WatchStart {
            trace_id: self.trace.unwrap_or_default(),
            goal: self.goal.unwrap_or_default(),
            task_type: self.task_type.unwrap_or_default(),
            user: self.user.unwrap_or_default(),
            agent: self.agent.unwrap_or_default(),
            session: self.session.unwrap_or_default(),
            environment: Some(Environment { tags: self.env, ..Environment::default() }),
            language: self.language.unwrap_or_default(),
            reminders: self.reminders,
            ..WatchStart::default()
        }
    }
}

/// With `--json` one answer per line of input, in order, and before them one to the start that the options make; else
/// only what is to be placed before the agent, for a hook in the JSON that the hook is to give.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    context.with_client(|client| async move { watch(client, args.start(), ui).await }).await
}

async fn watch(client: Client, start: WatchStart, ui: Ui) -> Result<u8, Failure> {
    let (mut events, sent) = mpsc::channel(ON_THE_WAY);
    let mut stream = Stream { answers: None, client, sent: Some(sent) };
    let mut input = BufReader::new(tokio::io::stdin());
    let (mut number, mut begin) = (0, Some(start));
    while let Some(line) = lines::next(&mut input, LINE_BYTES).await? {
        number += 1;
        if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        let mut told = match line.and_then(|line| events::read(&line)) {
            Ok(told) => told,
            Err(problem) => {
                show(ui, None, &broken(number, problem))?;
                continue;
            }
        };
        if let Some(start) = begin.take().and_then(|start| opening(start, &mut told)) {
            let first = WatchRequest { sequence: 0, event: Some(Event::Start(start)) };
            show(ui, told.hook.as_ref(), &stream.tell(&mut events, first).await?)?;
        }
        if told.request.sequence == 0 {
            told.request.sequence = number;
        }
        show(ui, told.hook.as_ref(), &stream.tell(&mut events, told.request).await?)?;
    }
    stream.close(events).await;
    Ok(0)
}

/// What the stream is to begin with before its first event, unless that is the start itself. `start` is what the
/// options say.
fn opening(start: WatchStart, told: &mut Told) -> Option<WatchStart> {
    let starts = matches!(told.request.event, Some(Event::Start(_)));
    let Some(hook) = &told.hook else { return (!starts).then_some(start) };
    let start = hook.start(start);
    if starts {
        told.request.event = Some(Event::Start(start));
        return None;
    }
    // A hook gives one answer, which is that to its own event.
    Some(WatchStart { goal: String::new(), ..start })
}

/// The stream, opened with its first event: the server takes the call as begun when it comes.
struct Stream {
    client: Client,
    sent: Option<mpsc::Receiver<WatchRequest>>,
    answers: Option<tonic::Streaming<WatchResponse>>,
}

impl Stream {
    async fn tell(
        &mut self,
        events: &mut mpsc::Sender<WatchRequest>,
        event: WatchRequest,
    ) -> Result<WatchResponse, Failure> {
        events.try_send(event).map_err(|_| ended())?;
        if let Some(sent) = self.sent.take() {
            self.answers = Some(self.client.watch(sent).await?);
        }
        let answers = self.answers.as_mut().ok_or_else(ended)?;
        answers.message().await.map_err(hindsight_client::Error::from)?.ok_or_else(ended)
    }

    /// Says that nothing more comes and hears the server out, so that the call ends instead of being cancelled.
    async fn close(self, events: mpsc::Sender<WatchRequest>) {
        drop(events);
        let Some(mut answers) = self.answers else { return };
        let rest = async { while let Ok(Some(_)) = answers.message().await {} };
        // Everything is answered: whatever comes now changes nothing.
        let _ = timeout(FAREWELL, rest).await;
    }
}

fn ended() -> Failure {
    Failure::new(hindsight_wiring::code::UNAVAILABLE, "the server ended the stream; begin it again")
}

fn broken(number: u64, problem: String) -> WatchResponse {
    let message = format!("line {number} is no event: {problem}");
    let rejection = WatchRejection { reason: "NO_EVENT".to_owned(), message, fields: Vec::new() };
    WatchResponse { in_reply_to: number, said: Some(Said::Rejection(rejection)) }
}

fn show(ui: Ui, hook: Option<&Hook>, answer: &WatchResponse) -> Result<(), Failure> {
    if ui.json {
        return ui.line("hindsight.recall.v1.WatchResponse", answer);
    }
    match &answer.said {
        Some(Said::Reminder(reminder)) => {
            return match hook {
                Some(hook) => ui.row(&hook.answer(&reminder.block)),
                None => ui.print(&reminder.block),
            };
        }
        Some(Said::Rejection(rejection)) => ui.note(&rejection.message),
        Some(Said::Silence(silence)) if silence.reason() == SilenceReason::Unavailable => {
            ui.note(&silence.words);
        }
        Some(Said::Silence(_)) | None => {}
    }
    Ok(())
}
