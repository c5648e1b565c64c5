//! Messages that could not be handled: look at them, try them again, or throw them away.

use clap::ValueEnum;
use hindsight_client::Client;
use hindsight_proto::operations::v1::{
    DeadLetter, DiscardDeadLettersRequest, GetDeadLetterRequest, GetDeadLetterResponse,
    ListDeadLettersRequest, ListDeadLettersResponse, ReplayDeadLettersRequest, WorkQueue,
    get_dead_letter_response::Content,
};
use hindsight_wiring::Failure;

use crate::{
    context::Context,
    json, names,
    ui::{Style, Ui},
};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Queue {
    Ingest,
    Evaluate,
    Compact,
}

fn number(queue: Option<Queue>) -> i32 {
    match queue {
        None => WorkQueue::Unspecified.into(),
        Some(Queue::Ingest) => WorkQueue::Ingest.into(),
        Some(Queue::Evaluate) => WorkQueue::Evaluate.into(),
        Some(Queue::Compact) => WorkQueue::Compact.into(),
    }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List them with their reasons, the latest first.
    List {
        /// Only of this queue.
        #[arg(long)]
        queue: Option<Queue>,
    },
    /// Show one: its history, and what it carries.
    Show { id: String },
    /// Put them back on their queues.
    Replay {
        #[arg(required_unless_present = "all", value_name = "ID")]
        ids: Vec<String>,
        /// Every one.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Only of this queue.
        #[arg(long)]
        queue: Option<Queue>,
    },
    /// Delete them for good.
    Discard {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    match command {
        Command::List { queue } => {
            let all = context.with_client(|client| all(client, number(queue))).await?;
            ui.message("hindsight.operations.v1.ListDeadLettersResponse", &all, list)?;
        }
        Command::Show { id } => {
            let request = GetDeadLetterRequest { id, queue: number(None) };
            let shown = context
                .with_client(|client| async move { Ok(client.get_dead_letter(request).await?) })
                .await?;
            show(ui, &shown)?;
        }
        Command::Replay { ids, queue, .. } => {
            let request = ReplayDeadLettersRequest { ids, queue: number(queue) };
            let done = context
                .with_client(|client| async move { Ok(client.replay_dead_letters(request).await?) })
                .await?;
            ui.message("hindsight.operations.v1.ReplayDeadLettersResponse", &done, |r| {
                format!("{} messages are tried again", r.replayed)
            })?;
        }
        Command::Discard { ids } => {
            let request = DiscardDeadLettersRequest { ids, queue: number(None) };
            let done = context
                .with_client(|client| async move { Ok(client.discard_dead_letters(request).await?) })
                .await?;
            ui.message("hindsight.operations.v1.DiscardDeadLettersResponse", &done, |r| {
                format!("{} messages are gone", r.discarded)
            })?;
        }
    }
    Ok(0)
}

async fn all(client: Client, queue: i32) -> Result<ListDeadLettersResponse, Failure> {
    let mut all = ListDeadLettersResponse::default();
    let mut request = ListDeadLettersRequest { queue, page_size: 500, page_token: String::new() };
    loop {
        let page = client.list_dead_letters(request.clone()).await?;
        all.letters.extend(page.letters);
        all.truncated |= page.truncated;
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        request.page_token = page.next_page_token;
    }
}

fn list(all: &ListDeadLettersResponse) -> String {
    if all.letters.is_empty() {
        return "no message was set aside".to_owned();
    }
    let mut lines: Vec<_> = all.letters.iter().map(line).collect();
    if all.truncated {
        lines.push("older ones are there; they show when these are gone".to_owned());
    }
    lines.join("\n")
}

fn line(letter: &DeadLetter) -> String {
    let queue = Style::Red.paint(&names::queue(letter.queue));
    let died = letter.died_at.as_ref().map_or_else(String::new, ToString::to_string);
    format!("{queue}  {}  {died}  after {} attempts: {}", letter.id, letter.attempts, letter.reason)
}

fn show(ui: Ui, shown: &GetDeadLetterResponse) -> Result<(), Failure> {
    const NAME: &str = "hindsight.operations.v1.GetDeadLetterResponse";
    if ui.json {
        return ui.message(NAME, shown, |_| String::new());
    }
    let mut text = String::new();
    if let Some(letter) = &shown.letter {
        text += &format!("{}\n{}, {} bytes\n", line(letter), letter.schema, letter.payload_bytes);
        for (i, reason) in letter.history.iter().enumerate() {
            text += &format!("  {}. {reason}\n", i + 1);
        }
    }
    ui.print(&text)?;
    match &shown.content {
        Some(Content::Unreadable(reason)) => ui.print(&format!("what it carries cannot be read: {reason}")),
        Some(Content::Event(event)) => {
            ui.value(&json::of_message("hindsight.event.v1.EventRecorded", event)?)
        }
        Some(Content::Fact(fact)) => ui.value(&json::of_message("hindsight.common.v1.Fact", fact)?),
        Some(Content::Evaluation(request)) => {
            ui.value(&json::of_message("hindsight.event.v1.EvaluationRequested", request)?)
        }
        Some(Content::Compaction(task)) => {
            ui.value(&json::of_message("hindsight.common.v1.CompactionTask", task)?)
        }
        None => Ok(()),
    }
}
