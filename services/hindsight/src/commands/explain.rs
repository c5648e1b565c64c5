use hindsight_proto::recall::v1::ExplainRecallRequest;
use hindsight_wiring::Failure;

use crate::{context::Context, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the receipt, from the recall.
    receipt: String,
    /// The user it was made for, when it was made for one.
    #[arg(long)]
    user: Option<String>,
    /// A memory that was expected: say why it did not come, and what to do about it.
    #[arg(long, value_name = "MEMORY_ID")]
    expect: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = ExplainRecallRequest {
        receipt_id: args.receipt,
        user: args.user.unwrap_or_default(),
        expect: args.expect.unwrap_or_default(),
    };
    let response =
        context.with_client(|client| async move { Ok(client.explain_recall(request).await?) }).await?;
    context.ui.message("hindsight.recall.v1.ExplainRecallResponse", &response, render::receipt::explained)?;
    Ok(0)
}
