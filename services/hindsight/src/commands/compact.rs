//! Upkeep: applies policies now, shows what that would do, what was done, and how the policies are set.

mod words;

use std::time::Duration;

use hindsight_client::Client;
use hindsight_codec::policy_to_proto;
use hindsight_proto::{
    common::v1::{CompactionRun, CompactionRunState as State},
    compactor::v1::{
        GetRunRequest, GetRunResponse, ListPoliciesRequest, ListRunsRequest, ListRunsResponse,
        RunCompactionRequest, RunCompactionResponse,
    },
};
use hindsight_types::Policy;
use hindsight_wiring::{Failure, code};
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::{context::Context, ui::Ui};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(300);
/// Most tasks or runs of a page.
const PAGE: i32 = 500;
/// Most tasks of a run that are shown.
const SHOWN: usize = 5_000;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// What to apply, as `hindsight compact policies` lists it. Without it, every policy that is on.
    #[arg(value_name = "POLICY", value_parser = policy)]
    policies: Vec<Policy>,
    /// Only show what would be done, and why.
    #[arg(long)]
    dry_run: bool,
    /// Wait until it is done, and show how far it is.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List what was done, the latest first.
    Runs {
        /// Only of this policy.
        #[arg(long, value_parser = policy)]
        policy: Option<Policy>,
        /// At most so many.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Show one run with its tasks.
    Run {
        /// Its id, as `hindsight compact runs` lists it.
        id: String,
    },
    /// Show how the policies are set, and when each is due.
    Policies,
}

fn policy(name: &str) -> Result<Policy, String> {
    Policy::parse(name).map_err(|e| e.fields.into_iter().map(|f| f.problem).collect())
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    match args.command {
        Some(Command::Runs { policy, limit }) => runs(policy, limit, context).await,
        Some(Command::Run { id }) => one(id, context).await,
        Some(Command::Policies) => policies(context).await,
        None => apply(args, context).await,
    }
}

async fn apply(args: Args, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    let done = context.with_client(|client| begin(client, args, ui)).await?;
    ui.message("hindsight.compactor.v1.RunCompactionResponse", &done, words::applied)?;
    let failed = |run: &CompactionRun| run.state() == State::Failed || run.failed > 0;
    if done.runs.iter().any(failed) { Err(Failure::told(code::DATA)) } else { Ok(0) }
}

async fn begin(client: Client, args: Args, ui: Ui) -> Result<RunCompactionResponse, Failure> {
    let request = RunCompactionRequest {
        policies: args.policies.iter().map(|policy| policy_to_proto(*policy)).collect(),
        dry_run: args.dry_run,
        // Named here, so that a call that is repeated begins one run.
        request_id: uuid::Uuid::new_v4().to_string(),
    };
    let mut begun = client.run_compaction(request).await?;
    if args.wait {
        begun.runs = follow(&client, begun.runs, ui).await?;
    }
    Ok(begun)
}

async fn follow(
    client: &Client,
    mut runs: Vec<CompactionRun>,
    ui: Ui,
) -> Result<Vec<CompactionRun>, Failure> {
    let target = if ui.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    loop {
        for run in runs.iter_mut().filter(|run| is_open(run)) {
            *run = found(get(client, &run.id, 1, String::new()).await?)?;
        }
        bar.set_length(runs.iter().map(|run| run.planned).sum());
        bar.set_position(runs.iter().map(|run| run.done + run.skipped + run.failed).sum());
        if !runs.iter().any(is_open) {
            bar.finish_and_clear();
            return Ok(runs);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn is_open(run: &CompactionRun) -> bool {
    matches!(run.state(), State::Planning | State::Working)
}

async fn get(
    client: &Client,
    id: &str,
    page_size: i32,
    page_token: String,
) -> Result<GetRunResponse, Failure> {
    Ok(client.get_run(GetRunRequest { id: id.to_owned(), page_size, page_token }).await?)
}

fn found(answer: GetRunResponse) -> Result<CompactionRun, Failure> {
    answer.run.ok_or_else(|| Failure::new(code::INTERNAL, "the server answered without a run"))
}

async fn one(id: String, context: &Context) -> Result<u8, Failure> {
    let shown = context.with_client(|client| whole(client, id)).await?;
    context.ui.message("hindsight.compactor.v1.GetRunResponse", &shown, words::run)?;
    Ok(0)
}

/// A run with all of its tasks, or as many as can be shown; then the token of the next page is there.
async fn whole(client: Client, id: String) -> Result<GetRunResponse, Failure> {
    let mut shown = get(&client, &id, PAGE, String::new()).await?;
    while !shown.next_page_token.is_empty() && shown.tasks.len() < SHOWN {
        let page = get(&client, &id, PAGE, shown.next_page_token).await?;
        shown.tasks.extend(page.tasks);
        shown.next_page_token = page.next_page_token;
    }
    Ok(shown)
}

async fn runs(policy: Option<Policy>, limit: u16, context: &Context) -> Result<u8, Failure> {
    let request = ListRunsRequest {
        policy: policy.map_or(0, policy_to_proto),
        page_size: i32::from(limit),
        page_token: String::new(),
    };
    let found: ListRunsResponse =
        context.with_client(|client| async move { Ok(client.list_runs(request).await?) }).await?;
    context.ui.message("hindsight.compactor.v1.ListRunsResponse", &found, words::runs)?;
    Ok(0)
}

async fn policies(context: &Context) -> Result<u8, Failure> {
    let found = context
        .with_client(|client| async move { Ok(client.list_policies(ListPoliciesRequest {}).await?) })
        .await?;
    context.ui.message("hindsight.compactor.v1.ListPoliciesResponse", &found, words::policies)?;
    Ok(0)
}
