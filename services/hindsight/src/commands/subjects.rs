//! Anonymous ids that turn out to be users.

use hindsight_codec::time_from_proto;
use hindsight_proto::memory::v1::{MergeState, MergeSubjectsRequest, SubjectMerge, UndoMergeSubjectsRequest};
use hindsight_wiring::Failure;

use crate::context::Context;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Give a user everything that an anonymous id owns. Can be taken back for a day.
    Merge {
        /// The anonymous id.
        from: String,
        /// The user it belongs to.
        to: String,
        /// Why; kept with the merge.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Take a merge back: what moved goes back to the anonymous id.
    Undo {
        /// The anonymous id.
        from: String,
        /// Why; kept with the merge.
        #[arg(long, default_value = "")]
        reason: String,
    },
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<u8, Failure> {
    match command {
        Command::Merge { from, to, reason } => {
            let request = MergeSubjectsRequest { from, to, reason };
            let response = context
                .with_client(|client| async move { Ok(client.merge_subjects(request).await?) })
                .await?;
            context.ui.message("hindsight.memory.v1.MergeSubjectsResponse", &response, |r| {
                r.merge.as_ref().map(told).unwrap_or_default()
            })?;
        }
        Command::Undo { from, reason } => {
            let request = UndoMergeSubjectsRequest { from, reason };
            let response = context
                .with_client(|client| async move { Ok(client.undo_merge_subjects(request).await?) })
                .await?;
            context.ui.message("hindsight.memory.v1.UndoMergeSubjectsResponse", &response, |r| {
                r.merge.as_ref().map(told).unwrap_or_default()
            })?;
        }
    }
    Ok(0)
}

fn told(merge: &SubjectMerge) -> String {
    let SubjectMerge { from, to, facts, runs, receipts, .. } = merge;
    let moved = format!("{facts} statements, {runs} runs, {receipts} receipts");
    let until = time_from_proto("open_until", merge.open_until).map(|t| t.to_string()).unwrap_or_default();
    match merge.state() {
        MergeState::Merging => format!("{from} → {to}: moving, {moved} so far; it goes on by itself"),
        MergeState::Merged | MergeState::Unspecified => {
            format!("{from} → {to}: {moved}; can be taken back until {until}")
        }
        MergeState::Undoing => format!("{to} → {from}: moving back; it goes on by itself"),
        MergeState::Undone => format!("{to} → {from}: {moved} are back"),
    }
}
