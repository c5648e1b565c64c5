//! Has runs judged again and follows how far it is.

use std::time::Duration;

use hindsight_client::Client;
use hindsight_codec::judge_choice_to_proto;
use hindsight_proto::{
    common::v1::{Reevaluation, ReevaluationState as State},
    evaluator::v1::{GetReevaluationRequest, ReevaluateRequest, reevaluate_request::Target},
};
use hindsight_types::JudgeChoice;
use hindsight_wiring::{Failure, code};
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::evaluate::judge;
use crate::{context::Context, ui::Ui};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub(crate) struct Args {
    /// The run to judge again.
    #[arg(group = "target")]
    trace: Option<String>,
    /// Every run whose verdict these judges made, as in slice/1, whoever it belongs to.
    #[arg(long, group = "target", value_name = "VERSION")]
    judged_by: Option<String>,
    /// Every judged run, whoever it belongs to.
    #[arg(long, group = "target")]
    all: bool,
    /// Follow one that was begun before, by its id.
    #[arg(long, group = "target", value_name = "ID")]
    follow: Option<String>,
    /// Who judges: slice, llm, or both. Without it, as the server is set.
    #[arg(long, value_parser = judge)]
    judge: Option<JudgeChoice>,
    /// The user the run belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// A UUID; the same again is the same re-evaluation.
    #[arg(long, value_name = "UUID")]
    request_id: Option<String>,
    /// Do not wait until it is done; it goes on wherever an evaluator runs.
    #[arg(long)]
    no_wait: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let (ui, wait) = (context.ui, !args.no_wait);
    let job = context.with_client(|client| work(client, args, ui, wait)).await?;
    ui.message("hindsight.common.v1.Reevaluation", &job, text)?;
    match job.state() {
        State::Failed => Err(Failure::told(code::INTERNAL)),
        _ if job.failed > 0 => Err(Failure::told(code::DATA)),
        _ => Ok(0),
    }
}

async fn work(client: Client, args: Args, ui: Ui, wait: bool) -> Result<Reevaluation, Failure> {
    let user = args.user.clone().unwrap_or_default();
    let job = match &args.follow {
        Some(id) => get(&client, id, &user).await?,
        None => begin(&client, args).await?,
    };
    if wait { follow(&client, job, &user, ui).await } else { Ok(job) }
}

async fn begin(client: &Client, args: Args) -> Result<Reevaluation, Failure> {
    let target = match (args.trace, args.judged_by) {
        (Some(trace), _) => Target::TraceId(trace),
        (None, Some(judge)) => Target::JudgeVersion(judge),
        (None, None) => Target::All(args.all),
    };
    // Named here, so that a call that is repeated begins one re-evaluation.
    let request_id = args.request_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let request = ReevaluateRequest {
        request_id,
        target: Some(target),
        user: args.user.unwrap_or_default(),
        judge: judge_choice_to_proto(args.judge),
    };
    found(client.reevaluate(request).await?.reevaluation)
}

async fn get(client: &Client, id: &str, user: &str) -> Result<Reevaluation, Failure> {
    let request = GetReevaluationRequest { id: id.to_owned(), user: user.to_owned() };
    found(client.get_reevaluation(request).await?.reevaluation)
}

fn found(job: Option<Reevaluation>) -> Result<Reevaluation, Failure> {
    job.ok_or_else(|| Failure::new(code::INTERNAL, "the server answered without a re-evaluation"))
}

async fn follow(client: &Client, mut job: Reevaluation, user: &str, ui: Ui) -> Result<Reevaluation, Failure> {
    let target = if ui.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(job.total), target);
    while job.state() == State::Running {
        tokio::time::sleep(LOOK).await;
        job = get(client, &job.id, user).await?;
        bar.set_length(job.total);
        bar.set_position(job.judged + job.failed);
    }
    bar.finish_and_clear();
    Ok(job)
}

fn text(job: &Reevaluation) -> String {
    let head = match job.state() {
        State::Running => format!(
            "re-evaluation {} is under way: {} of {} runs; follow it with --follow {}",
            job.id, job.judged, job.total, job.id
        ),
        State::Failed => format!("re-evaluation {} broke off: {}", job.id, job.reason),
        _ => format!("{} runs are judged again", job.judged),
    };
    let failed = (job.failed > 0).then(|| format!("{} could not be; their verdicts stay", job.failed));
    let each = job.failures.iter().map(|f| format!("  {}: {}", f.trace_id, f.reason));
    std::iter::once(head).chain(failed).chain(each).collect::<Vec<_>>().join("\n")
}
