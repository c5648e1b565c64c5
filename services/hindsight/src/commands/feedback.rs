use hindsight_proto::{
    common::v1::{FeedbackVerdict, OutcomeStatus},
    recall::v1::{ReportOutcomeRequest, ReportedItem},
};
use hindsight_wiring::Failure;

use crate::{context::Context, names::Ending, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the receipt, from the recall.
    receipt: String,
    /// The user it was made for, when it was made for one.
    #[arg(long)]
    user: Option<String>,
    /// A memory that helped. May be given several times, as the next three.
    #[arg(long, value_name = "MEMORY_ID", required_unless_present_any = ["harmful", "used", "ignored"])]
    helpful: Vec<String>,
    /// A memory that misled.
    #[arg(long, value_name = "MEMORY_ID")]
    harmful: Vec<String>,
    /// A memory that was followed; whether it helped is not known.
    #[arg(long, value_name = "MEMORY_ID")]
    used: Vec<String>,
    /// A memory that was not followed.
    #[arg(long, value_name = "MEMORY_ID")]
    ignored: Vec<String>,
    /// The run that the memories were given to: what is said of them becomes evidence.
    #[arg(long, value_name = "TRACE_ID")]
    trace: Option<String>,
    /// How that run ended.
    #[arg(long, value_enum)]
    outcome: Option<Ending>,
    /// In words.
    #[arg(long)]
    note: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let said = [
        (args.helpful, FeedbackVerdict::Helpful),
        (args.harmful, FeedbackVerdict::Harmful),
        (args.used, FeedbackVerdict::Used),
        (args.ignored, FeedbackVerdict::Ignored),
    ];
    let items = said.into_iter().flat_map(|(ids, verdict)| {
        ids.into_iter().map(move |memory_id| ReportedItem { memory_id, verdict: verdict as i32 })
    });
    let request = ReportOutcomeRequest {
        receipt_id: args.receipt,
        user: args.user.unwrap_or_default(),
        trace_id: args.trace.unwrap_or_default(),
        outcome: args.outcome.map_or(OutcomeStatus::Unspecified, Ending::to_proto) as i32,
        items: items.collect(),
        note: args.note.unwrap_or_default(),
    };
    let response =
        context.with_client(|client| async move { Ok(client.report_outcome(request).await?) }).await?;
    context.ui.message("hindsight.recall.v1.ReportOutcomeResponse", &response, render::receipt::reported)?;
    Ok(0)
}
