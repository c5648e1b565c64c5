//! Anonymous ids that turn out to be users.

use hindsight_api::{Caller, status};
use hindsight_codec::time_to_proto;
use hindsight_ports::{Begun, Subjects, Tally};
use hindsight_proto::memory::v1 as pb;
use hindsight_types::{Invalid, MergeState, SubjectMerge, UserId};
use tonic::{Code, Status};

use super::{Memories, history::reason, invalid, store};
use crate::NAME;

impl Memories {
    /// Moves what there is before it answers; what does not get done is gone on with.
    pub(super) async fn merge(
        &self,
        caller: Caller,
        request: pb::MergeSubjectsRequest,
    ) -> Result<pb::MergeSubjectsResponse, Status> {
        let pb::MergeSubjectsRequest { from, to, reason } = request;
        let subjects = self.subjects()?;
        let (from, to) = (user("from", from).map_err(invalid)?, user("to", to).map_err(invalid)?);
        let reason = self::reason(&reason, false).map_err(invalid)?;
        if from == to {
            return Err(invalid(Invalid::new("to", "is the same id as `from`; name the user it belongs to")));
        }
        let now = self.clock.now();
        let wanted = SubjectMerge::new(caller.tenant, from, to, &caller.key, &reason, now);
        let begun = match subjects.begin(&wanted).await.map_err(store)? {
            Begun::Stands(begun) => begun,
            Begun::InTheWay(other) => return Err(in_the_way(&wanted, &other)),
        };
        tracing::info!(key = %caller.key, from = %begun.from, to = %begun.to, "an id is merged into a user");
        let merge = subjects.carry(&begun, now).await.map_err(store)?;
        Ok(pb::MergeSubjectsResponse { merge: Some(self.told(&*subjects, &merge).await?) })
    }

    pub(super) async fn undo_merge(
        &self,
        caller: Caller,
        request: pb::UndoMergeSubjectsRequest,
    ) -> Result<pb::UndoMergeSubjectsResponse, Status> {
        let pb::UndoMergeSubjectsRequest { from, reason } = request;
        let subjects = self.subjects()?;
        let from = user("from", from).map_err(invalid)?;
        let reason = self::reason(&reason, false).map_err(invalid)?;
        let now = self.clock.now();
        let begun = subjects.retract(&caller.tenant, &from, &caller.key, &reason, now).await;
        let begun = match begun.map_err(store)? {
            Some(Begun::Stands(begun)) => begun,
            Some(Begun::InTheWay(other)) => return Err(merged_on(&from, &other)),
            None => return Err(status::not_found(NAME, "merge", &from)),
        };
        tracing::info!(key = %caller.key, from = %begun.from, to = %begun.to, "a merge is taken back");
        let merge = subjects.carry_back(&begun).await.map_err(store)?;
        Ok(pb::UndoMergeSubjectsResponse { merge: Some(self.told(&*subjects, &merge).await?) })
    }

    async fn told(&self, subjects: &dyn Subjects, merge: &SubjectMerge) -> Result<pb::SubjectMerge, Status> {
        let Tally { facts, runs, receipts } = subjects.tally(merge).await.map_err(store)?;
        let state = match merge.state {
            MergeState::Merging => pb::MergeState::Merging,
            MergeState::Merged | MergeState::Closed => pb::MergeState::Merged,
            MergeState::Undoing => pb::MergeState::Undoing,
            MergeState::Undone => pb::MergeState::Undone,
        };
        Ok(pb::SubjectMerge {
            from: merge.from.to_string(),
            to: merge.to.to_string(),
            state: state.into(),
            by: merge.by.clone(),
            reason: merge.reason.clone(),
            merged_at: Some(time_to_proto(merge.merged_at)),
            open_until: Some(time_to_proto(merge.open_until())),
            undone_at: merge.undone_at.map(time_to_proto),
            facts,
            runs,
            receipts,
        })
    }
}

fn user(field: &str, id: String) -> Result<UserId, Invalid> {
    UserId::new(id).map_err(|e| Invalid::new(field, e.fields[0].problem.clone()))
}

fn in_the_way(wanted: &SubjectMerge, other: &SubjectMerge) -> Status {
    let (from, to) = (&other.from, &other.to);
    let message = if other.from == wanted.to {
        format!("`{from}` was itself merged into `{to}`; merge into `{to}`")
    } else if matches!(other.state, MergeState::Undoing | MergeState::Undone) {
        format!("the merge of `{from}` into `{to}` is being taken back; try again in a moment")
    } else {
        format!("`{from}` was merged into `{to}`; take that back before it is merged into another user")
    };
    refused("MERGE_IN_THE_WAY", message, other)
}

fn merged_on(from: &UserId, other: &SubjectMerge) -> Status {
    let message = format!(
        "`{}`, into which `{from}` was merged, was itself merged into `{}`; take that back first",
        other.from, other.to
    );
    refused("MERGED_ON", message, other)
}

fn refused(reason: &str, message: String, other: &SubjectMerge) -> Status {
    let metadata = [("from", other.from.to_string()), ("to", other.to.to_string())];
    status::error(NAME, Code::FailedPrecondition, reason, message, metadata)
}
