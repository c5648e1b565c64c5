use hindsight_proto::memory::v1::GetProvenanceRequest;
use hindsight_wiring::Failure;

use crate::{context::Context, names::Kind, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the memory.
    id: String,
    /// Its kind; looked for among all by default.
    #[arg(long)]
    kind: Option<Kind>,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = GetProvenanceRequest {
        memory_id: args.id,
        kind: args.kind.map_or(0, |kind| kind.to_proto().into()),
        user: args.user.unwrap_or_default(),
    };
    let response =
        context.with_client(|client| async move { Ok(client.get_provenance(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.GetProvenanceResponse", &response, render::provenance::tree)?;
    Ok(0)
}
