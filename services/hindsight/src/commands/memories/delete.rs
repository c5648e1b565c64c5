use hindsight_client::Client;
use hindsight_proto::memory::v1::DeleteMemoryRequest;
use hindsight_wiring::{Failure, code};

use crate::{
    commands::forget::{follow, shown},
    context::Context,
    names::Kind,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its kind. An experience goes with its steps and its raw events.
    kind: Kind,
    /// Id of the memory.
    id: String,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// Why, for the record.
    #[arg(long, default_value = "deleted by hand")]
    reason: String,
    /// A UUID; the same again is the same deletion.
    #[arg(long, value_name = "UUID")]
    request_id: Option<String>,
    /// Do not wait until it is gone from the files as well.
    #[arg(long)]
    no_wait: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = DeleteMemoryRequest {
        kind: args.kind.to_proto().into(),
        memory_id: args.id,
        user: args.user.unwrap_or_default(),
        reason: args.reason,
        request_id: args.request_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
    };
    let work = |client: Client| async move {
        let begun = client.delete_memory(request).await?.forgetting;
        let begun =
            begun.ok_or_else(|| Failure::new(code::INTERNAL, "the server answered without a deletion"))?;
        if args.no_wait { Ok(begun) } else { follow(&client, begun).await }
    };
    let done = context.with_client(work).await?;
    shown(&done, context)
}
