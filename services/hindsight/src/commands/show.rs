use hindsight_proto::memory::v1::GetTrajectoryRequest;
use hindsight_wiring::Failure;

use crate::{context::Context, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the run.
    trace: String,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// Show arguments and results in full.
    #[arg(long)]
    full: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = GetTrajectoryRequest { trace_id: args.trace, user: args.user.unwrap_or_default() };
    let response =
        context.with_client(|client| async move { Ok(client.get_trajectory(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.GetTrajectoryResponse", &response, |r| {
        render::trajectory::draw(r, args.full)
    })?;
    Ok(0)
}
