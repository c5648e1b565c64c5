use hindsight_client::Client;
use hindsight_proto::evaluator::v1::{ListFailuresRequest, ListFailuresResponse, ReplayFailuresRequest};
use hindsight_wiring::Failure;

use crate::{context::Context, names, ui::Style};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Try the failed ones again.
    #[arg(long)]
    replay: bool,
    /// Only these runs, with --replay.
    #[arg(requires = "replay", value_name = "TRACE")]
    traces: Vec<String>,
    /// Also the runs of this user.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let user = args.user.unwrap_or_default();
    if args.replay {
        let request = ReplayFailuresRequest { trace_ids: args.traces, user };
        let response =
            context.with_client(|client| async move { Ok(client.replay_failures(request).await?) }).await?;
        context.ui.message("hindsight.evaluator.v1.ReplayFailuresResponse", &response, |r| {
            format!("{} evaluations are tried again", r.replayed)
        })?;
    } else {
        let response = context.with_client(|client| all(client, user)).await?;
        context.ui.message("hindsight.evaluator.v1.ListFailuresResponse", &response, text)?;
    }
    Ok(0)
}

async fn all(client: Client, user: String) -> Result<ListFailuresResponse, Failure> {
    let mut all = ListFailuresResponse::default();
    let mut request = ListFailuresRequest { page_size: 500, page_token: String::new(), user };
    loop {
        let page = client.list_failures(request.clone()).await?;
        all.failures.extend(page.failures);
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        request.page_token = page.next_page_token;
    }
}

fn text(response: &ListFailuresResponse) -> String {
    if response.failures.is_empty() {
        return "no evaluation failed or waits".to_owned();
    }
    let line = |r: &hindsight_proto::common::v1::EvaluationRecord| {
        let state = names::state(r.state);
        let style = if state == "failed" { Style::Red } else { Style::Yellow };
        format!("{}  {}  after {} tries: {}", style.paint(&state), r.trace_id, r.attempts, r.reason)
    };
    response.failures.iter().map(line).collect::<Vec<_>>().join("\n")
}
