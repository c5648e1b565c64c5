use hindsight_client::Client;
use hindsight_proto::{
    memory::v1::{GetStatsRequest, GetStatsResponse},
    operations::v1::{GetEmbedderRequest, GetEmbedderResponse},
};
use hindsight_wiring::Failure;

use crate::{commands::reembed, context::Context};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also count what belongs to this user.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = GetStatsRequest { user: args.user.unwrap_or_default() };
    let ask = |client: Client| async move {
        let stats = client.get_stats(request).await?;
        // Only operators may know, and only the compactor can tell.
        Ok((stats, client.get_embedder(GetEmbedderRequest {}).await.ok()))
    };
    let (stats, embedder) = context.with_client(ask).await?;
    context.ui.message("hindsight.memory.v1.GetStatsResponse", &stats, |s| text(s, embedder.as_ref()))?;
    Ok(0)
}

fn text(s: &GetStatsResponse, embedder: Option<&GetEmbedderResponse>) -> String {
    let counts = [
        ("events", s.events),
        ("experiences", s.experiences),
        ("steps", s.steps),
        ("failure patterns", s.failure_patterns),
        ("lessons", s.lessons),
        ("facts", s.facts),
    ]
    .map(|(name, n)| format!("{name:<17}{n:>8}"));
    counts.into_iter().chain(embedder.map(reembed::text)).collect::<Vec<_>>().join("\n")
}
