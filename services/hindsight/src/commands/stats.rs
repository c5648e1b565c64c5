use hindsight_proto::memory::v1::{GetStatsRequest, GetStatsResponse};
use hindsight_wiring::Failure;

use crate::context::Context;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also count what belongs to this user.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = GetStatsRequest { user: args.user.unwrap_or_default() };
    let response = context.with_client(|client| async move { Ok(client.get_stats(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.GetStatsResponse", &response, text)?;
    Ok(0)
}

fn text(s: &GetStatsResponse) -> String {
    [
        ("events", s.events),
        ("experiences", s.experiences),
        ("steps", s.steps),
        ("failure patterns", s.failure_patterns),
        ("lessons", s.lessons),
        ("facts", s.facts),
    ]
    .map(|(name, n)| format!("{name:<17}{n:>8}"))
    .join("\n")
}
