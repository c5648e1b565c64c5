use hindsight_proto::collector::v1::{Consistency, RetainRequest};
use hindsight_wiring::Failure;

use crate::context::Context;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the user said.
    text: String,
    /// The user.
    #[arg(long)]
    user: String,
    /// The same key again replaces the fact.
    #[arg(long)]
    key: Option<String>,
    /// What surrounded it; searched, not shown.
    #[arg(long)]
    context: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = RetainRequest {
        user: args.user,
        content: args.text,
        key: args.key.unwrap_or_default(),
        context: args.context.unwrap_or_default(),
        // The next recall shall find it.
        consistency: Consistency::Indexed.into(),
        ..RetainRequest::default()
    };
    let response = context.with_client(|client| async move { Ok(client.retain(request).await?) }).await?;
    context.ui.message("hindsight.collector.v1.RetainResponse", &response, |r| {
        format!("kept as {}", r.memory_id)
    })?;
    Ok(0)
}
