use hindsight_proto::storage::v1::{
    MergeStage, MovedRecord as PbMoved, MovedStatement, RenamedMemory, SubjectMergeRecord, moved_record,
};
use hindsight_types::{
    Invalid, MemoryId, MergeState, Moved, MovedRecord, ReceiptId, Scope, SubjectMerge, TraceId, UserId,
};
use uuid::Uuid;

use crate::time::{optional_time_from_proto, time_from_proto, time_to_proto};

pub(crate) fn merge_to_proto(m: &SubjectMerge) -> SubjectMergeRecord {
    let stage = match m.state {
        MergeState::Merging => MergeStage::Merging,
        MergeState::Merged => MergeStage::Merged,
        MergeState::Closed => MergeStage::Closed,
        MergeState::Undoing => MergeStage::Undoing,
        MergeState::Undone => MergeStage::Undone,
    };
    SubjectMergeRecord {
        from: m.from.to_string(),
        to: m.to.to_string(),
        stage: stage.into(),
        by: m.by.clone(),
        reason: m.reason.clone(),
        merged_at: Some(time_to_proto(m.merged_at)),
        undone_at: m.undone_at.map(time_to_proto),
    }
}

pub(crate) fn merge_from_proto(scope: Scope, m: SubjectMergeRecord) -> Result<SubjectMerge, Invalid> {
    let state = match m.stage() {
        MergeStage::Merging => MergeState::Merging,
        MergeStage::Merged => MergeState::Merged,
        MergeStage::Closed => MergeState::Closed,
        MergeStage::Undoing => MergeState::Undoing,
        MergeStage::Undone => MergeState::Undone,
        MergeStage::Unspecified => return Err(Invalid::new("stage", "is required")),
    };
    Ok(SubjectMerge {
        scope,
        from: UserId::new(m.from)?,
        to: UserId::new(m.to)?,
        state,
        by: m.by,
        reason: m.reason,
        merged_at: time_from_proto("merged_at", m.merged_at)?,
        undone_at: optional_time_from_proto("undone_at", m.undone_at)?,
    })
}

pub(crate) fn moved_to_proto(m: &MovedRecord) -> PbMoved {
    let moved = match &m.moved {
        Moved::Run(trace) => moved_record::Moved::TraceId(trace.to_string()),
        Moved::Receipt(id) => moved_record::Moved::ReceiptId(id.to_string()),
        Moved::Statement { fact, retained_at } => moved_record::Moved::Statement(MovedStatement {
            memory_id: fact.to_string(),
            retained_at: Some(time_to_proto(*retained_at)),
        }),
        Moved::Renamed { from, to } => {
            moved_record::Moved::Renamed(RenamedMemory { from: from.to_string(), to: to.to_string() })
        }
    };
    PbMoved { merge: m.merge.to_string(), merged_at: Some(time_to_proto(m.merged_at)), moved: Some(moved) }
}

pub(crate) fn moved_from_proto(scope: Scope, m: PbMoved) -> Result<MovedRecord, Invalid> {
    let moved = match m.moved.ok_or_else(|| Invalid::new("moved", "is required"))? {
        moved_record::Moved::TraceId(trace) => Moved::Run(TraceId::new(trace)?),
        moved_record::Moved::ReceiptId(id) => Moved::Receipt(ReceiptId::parse(&id)?),
        moved_record::Moved::Statement(s) => Moved::Statement {
            fact: MemoryId::parse(&s.memory_id)?,
            retained_at: time_from_proto("statement.retained_at", s.retained_at)?,
        },
        moved_record::Moved::Renamed(r) => {
            Moved::Renamed { from: MemoryId::parse(&r.from)?, to: MemoryId::parse(&r.to)? }
        }
    };
    let merge =
        Uuid::parse_str(&m.merge).map_err(|e| Invalid::new("merge", format!("is not a UUID: {e}")))?;
    Ok(MovedRecord { scope, merge, merged_at: time_from_proto("merged_at", m.merged_at)?, moved })
}
