use hindsight_proto::{common::v1::Environment, recall::v1::RecallRequest};
use hindsight_wiring::Failure;

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
    /// Also say why each memory is there.
    #[arg(long)]
    why: bool,
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
