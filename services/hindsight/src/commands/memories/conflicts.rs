use hindsight_client::Client;
use hindsight_proto::{
    common::v1::Fact,
    memory::v1::{Conflict, ConflictDecision, ListConflictsRequest, ListConflictsResponse},
};
use hindsight_wiring::Failure;

use crate::{context::Context, render, ui::Style};

const WIDTH: usize = 100;
/// Most pairs of a page.
const PAGE: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose facts.
    #[arg(long)]
    user: String,
    /// Most pairs, newest first.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let response = context.with_client(|client| conflicts(client, args)).await?;
    if response.partial {
        context.ui.note("only the newest facts were compared");
    }
    context.ui.message("hindsight.memory.v1.ListConflictsResponse", &response, |r| {
        r.conflicts.iter().map(pair).collect::<Vec<_>>().join("\n")
    })?;
    Ok(0)
}

async fn conflicts(client: Client, args: Args) -> Result<ListConflictsResponse, Failure> {
    let mut all = ListConflictsResponse::default();
    let mut request = ListConflictsRequest { user: args.user, ..Default::default() };
    while all.conflicts.len() < args.limit {
        request.page_size = (args.limit - all.conflicts.len()).min(PAGE) as i32;
        let page = client.list_conflicts(request.clone()).await?;
        all.conflicts.extend(page.conflicts);
        all.partial = page.partial;
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(all)
}

fn pair(conflict: &Conflict) -> String {
    let fact = |fact: Option<&Fact>| {
        fact.map(|f| format!("{}  {}", Style::Dim.paint(&f.memory_id), render::short(&f.content, WIDTH)))
            .unwrap_or_default()
    };
    let decided = match conflict.decision() {
        ConflictDecision::Superseded => "for good",
        ConflictDecision::AtRecall | ConflictDecision::Unspecified => "with each recall",
    };
    let why = render::short(&conflict.why, WIDTH);
    format!(
        "{}\n  holds instead of {}\n  {}",
        fact(conflict.newer.as_ref()),
        fact(conflict.older.as_ref()),
        Style::Dim.paint(&format!("decided {decided}: {why}"))
    )
}
