use clap::ValueEnum;
use hindsight_codec::time_to_proto;
use hindsight_proto::{
    common::v1::Environment,
    recall::v1::{BlockFormat, RecallRequest},
};
use hindsight_types::Timestamp;
use hindsight_wiring::Failure;
use jiff::tz::TimeZone;

use crate::{context::Context, names::Kind, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, question or state, in words.
    query: String,
    /// The person the agent works for; opens this user's memories.
    #[arg(long)]
    user: Option<String>,
    /// The agent that asks; opens what is limited to it.
    #[arg(long)]
    agent: Option<String>,
    /// Kind of task; opens what is limited to it.
    #[arg(long)]
    task_type: Option<String>,
    /// Where the agent runs, as in docker or k8s. May be given several times.
    #[arg(long, value_name = "TAG")]
    env: Vec<String>,
    /// Most memories; 3 by default, at most 10.
    #[arg(long)]
    limit: Option<u32>,
    /// Only memories of this kind. May be given several times.
    #[arg(long)]
    kind: Vec<Kind>,
    /// What was said just before, so that "it" is understood. May be given several times, oldest first.
    #[arg(long, value_name = "TURN")]
    recent: Vec<String>,
    /// When the question is asked, as in 2026-09-21T08:00:00Z; now by default.
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Where the question is asked, as in Asia/Shanghai, so that "yesterday" is the right day; this machine's by
    /// default.
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// How the block is written.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Language of the block's own words; that of the question by default.
    #[arg(long, value_parser = ["en", "zh"])]
    language: Option<String>,
    /// Also say why each memory is there.
    #[arg(long)]
    why: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a prompt.
    Markdown,
    /// The same content as one JSON value.
    Json,
}

impl Format {
    fn to_proto(self) -> BlockFormat {
        match self {
            Self::Markdown => BlockFormat::Markdown,
            Self::Json => BlockFormat::Json,
        }
    }
}

/// Empty when the system does not tell, which means UTC.
fn time_zone_here() -> String {
    TimeZone::system().iana_name().unwrap_or_default().to_owned()
}

/// Prints the block for the agent, and nothing else unless asked.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = RecallRequest {
        query: args.query,
        user: args.user.unwrap_or_default(),
        agent: args.agent.unwrap_or_default(),
        task_type: args.task_type.unwrap_or_default(),
        environment: Some(Environment { tags: args.env, ..Environment::default() }),
        kinds: args.kind.into_iter().map(|k| k.to_proto().into()).collect(),
        limit: args.limit.unwrap_or_default(),
        recent: args.recent,
        asked_at: args.at.map(time_to_proto),
        time_zone: args.time_zone.unwrap_or_else(time_zone_here),
        format: args.format.to_proto() as i32,
        language: args.language.unwrap_or_default(),
        ..RecallRequest::default()
    };
    let ui = context.ui;
    let response = context.with_client(|client| async move { Ok(client.recall(request).await?) }).await?;
    if response.items.is_empty() && !ui.json {
        ui.note(&response.empty_reason);
    }
    ui.message("hindsight.recall.v1.RecallResponse", &response, |r| {
        if args.why { format!("{}\n{}", r.block, render::recall::why(r)) } else { r.block.clone() }
    })?;
    Ok(0)
}
