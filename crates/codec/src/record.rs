use hindsight_proto::storage::v1::{
    MemoryVersion as PbMemoryVersion, OpenTask as PbOpenTask, Record as PbRecord, record::Body,
};
pub use hindsight_types::RecordBody;
use hindsight_types::{Invalid, MemoryVersion, OpenTask, Scope, TenantId, TraceId};

use crate::{
    archived::{archived_from_proto, archived_to_proto},
    compaction::{run_record_from_proto, run_record_to_proto},
    forgetting::{
        forgetting_record_from_proto, forgetting_record_to_proto, forgotten_from_proto, forgotten_to_proto,
    },
    reevaluation::{former_from_proto, former_to_proto, job_from_proto, job_to_proto},
    subject::{merge_from_proto, merge_to_proto, moved_from_proto, moved_to_proto},
    *,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub RecordBody);

impl Record {
    pub fn scope(&self) -> &Scope {
        self.0.scope()
    }
}

pub fn record_to_proto(r: &Record) -> PbRecord {
    PbRecord {
        tenant: r.scope().tenant.to_string(),
        scope: Some(scope_to_proto(r.scope())),
        body: Some(match &r.0 {
            RecordBody::Event(e) => Body::Event(event_to_proto(e)),
            RecordBody::Memory(m) => Body::Memory(memory_to_proto(m)),
            RecordBody::Evaluation(e) => Body::Evaluation(evaluation_record_to_proto(e)),
            RecordBody::Receipt(r) => Body::Receipt(receipt_to_proto(r)),
            RecordBody::Evidence(e) => Body::Evidence(evidence_to_proto(e)),
            RecordBody::OpenTask(t) => Body::OpenTask(PbOpenTask {
                trace_id: t.trace_id.to_string(),
                touched_at: Some(time_to_proto(t.touched_at)),
            }),
            RecordBody::FormerVerdicts(f) => Body::FormerVerdicts(former_to_proto(f)),
            RecordBody::Reevaluation(r) => Body::Reevaluation(job_to_proto(r)),
            RecordBody::Feedback(f) => Body::Feedback(feedback_to_proto(f)),
            RecordBody::Review(r) => Body::Review(review_to_proto(r)),
            RecordBody::Version(v) => {
                Body::MemoryVersion(PbMemoryVersion { memory: Some(memory_to_proto(&v.0)) })
            }
            RecordBody::CompactionRun(r) => Body::CompactionRun(run_record_to_proto(r)),
            RecordBody::CompactionTask(t) => Body::CompactionTask(compaction_task_to_proto(t)),
            RecordBody::Forgotten(f) => Body::Forgotten(forgotten_to_proto(f)),
            RecordBody::Forgetting(f) => Body::Forgetting(forgetting_record_to_proto(f)),
            RecordBody::Archived(a) => Body::Archived(archived_to_proto(a)),
            RecordBody::SubjectMerge(m) => Body::SubjectMerge(merge_to_proto(m)),
            RecordBody::Moved(m) => Body::Moved(moved_to_proto(m)),
        }),
    }
}

pub fn record_from_proto(r: PbRecord) -> Result<Record, Invalid> {
    let tenant = TenantId::new(r.tenant)?;
    Ok(Record(match r.body.ok_or_else(|| Invalid::new("body", "is required"))? {
        Body::Event(e) => RecordBody::Event(event_from_proto(&tenant, e)?),
        Body::Memory(m) => RecordBody::Memory(memory_from_proto(&tenant, m)?),
        Body::Evaluation(e) => {
            RecordBody::Evaluation(evaluation_record_from_proto(scope_from_proto(&tenant, r.scope)?, e)?)
        }
        Body::Receipt(x) => RecordBody::Receipt(receipt_from_proto(&tenant, x)?),
        Body::Evidence(x) => RecordBody::Evidence(evidence_from_proto(&tenant, x)?),
        Body::FormerVerdicts(x) => {
            RecordBody::FormerVerdicts(former_from_proto(scope_from_proto(&tenant, r.scope)?, x)?)
        }
        Body::Reevaluation(x) => {
            RecordBody::Reevaluation(job_from_proto(scope_from_proto(&tenant, r.scope)?, x)?)
        }
        Body::Feedback(x) => {
            RecordBody::Feedback(feedback_from_proto(scope_from_proto(&tenant, r.scope)?, x)?)
        }
        Body::CompactionRun(x) => RecordBody::CompactionRun(run_record_from_proto(tenant, x)?),
        Body::CompactionTask(x) => RecordBody::CompactionTask(compaction_task_from_proto(&tenant, x)?),
        Body::Forgotten(x) => RecordBody::Forgotten(forgotten_from_proto(tenant, x)?),
        Body::Forgetting(x) => RecordBody::Forgetting(Box::new(forgetting_record_from_proto(&tenant, x)?)),
        Body::Archived(x) => RecordBody::Archived(Box::new(archived_from_proto(&tenant, x)?)),
        Body::Review(x) => RecordBody::Review(review_from_proto(&tenant, x)?),
        Body::SubjectMerge(x) => {
            RecordBody::SubjectMerge(merge_from_proto(scope_from_proto(&tenant, r.scope)?, x)?)
        }
        Body::Moved(x) => RecordBody::Moved(moved_from_proto(scope_from_proto(&tenant, r.scope)?, x)?),
        Body::MemoryVersion(x) => {
            let memory = x.memory.ok_or_else(|| Invalid::new("memory", "is required"))?;
            RecordBody::Version(MemoryVersion(memory_from_proto(&tenant, memory)?))
        }
        Body::OpenTask(x) => RecordBody::OpenTask(OpenTask {
            trace_id: TraceId::new(x.trace_id)?,
            scope: scope_from_proto(&tenant, r.scope)?,
            touched_at: time_from_proto("touched_at", x.touched_at)?,
        }),
    }))
}
