use hindsight_client::Client;
use hindsight_proto::memory::v1::{ListMemoriesRequest, ListMemoriesResponse};
use hindsight_wiring::Failure;

use crate::{context::Context, names::Kind, render};

/// Most memories of a page.
const PAGE: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which kind.
    #[arg(long)]
    kind: Kind,
    /// Also what belongs to this user.
    #[arg(long)]
    user: Option<String>,
    /// Most memories, newest first.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let response = context.with_client(|client| list(client, args)).await?;
    context.ui.message("hindsight.memory.v1.ListMemoriesResponse", &response, |r| {
        r.memories.iter().map(render::memory::line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(0)
}

async fn list(client: Client, args: Args) -> Result<ListMemoriesResponse, Failure> {
    let mut all = ListMemoriesResponse::default();
    let mut request = ListMemoriesRequest {
        kind: args.kind.to_proto().into(),
        user: args.user.unwrap_or_default(),
        ..ListMemoriesRequest::default()
    };
    while all.memories.len() < args.limit {
        request.page_size = (args.limit - all.memories.len()).min(PAGE) as i32;
        let page = client.list_memories(request.clone()).await?;
        all.memories.extend(page.memories);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(all)
}
