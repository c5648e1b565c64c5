use hindsight_proto::storage::v1::{OpenTask as PbOpenTask, Record as PbRecord, record::Body};
use hindsight_types::{
    EvaluationRecord, Event, Evidence, Feedback, FormerVerdicts, Invalid, Memory, OpenTask, Receipt,
    Reevaluation, Scope, TenantId, TraceId,
};

use crate::{
    reevaluation::{former_from_proto, former_to_proto, job_from_proto, job_to_proto},
    *,
};

/// What is stored, whole.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordBody {
    Event(Event),
    Memory(Memory),
    Evaluation(EvaluationRecord),
    Receipt(Receipt),
    Evidence(Evidence),
    OpenTask(OpenTask),
    FormerVerdicts(FormerVerdicts),
    Reevaluation(Reevaluation),
    Feedback(Feedback),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub RecordBody);

impl Record {
    pub fn scope(&self) -> &Scope {
        match &self.0 {
            RecordBody::Event(e) => &e.scope,
            RecordBody::Memory(m) => m.scope(),
            RecordBody::Evaluation(r) => &r.scope,
            RecordBody::Receipt(r) => &r.scope,
            RecordBody::Evidence(e) => &e.scope,
            RecordBody::OpenTask(t) => &t.scope,
            RecordBody::FormerVerdicts(f) => &f.scope,
            RecordBody::Reevaluation(r) => &r.scope,
            RecordBody::Feedback(f) => &f.scope,
        }
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
        Body::OpenTask(x) => RecordBody::OpenTask(OpenTask {
            trace_id: TraceId::new(x.trace_id)?,
            scope: scope_from_proto(&tenant, r.scope)?,
            touched_at: time_from_proto("touched_at", x.touched_at)?,
        }),
    }))
}
