use std::collections::BTreeMap;

use hindsight_proto::{
    common::v1 as pb,
    event::v1::MemoryChange as PbChange,
    storage::v1::{ForgettingRecord, Forgotten as PbForgotten, Gap as PbGap, Rederivation as PbRederivation},
};
use hindsight_types::{
    Batch, FilesSearched, Forgetting, ForgettingId, ForgettingState, Forgotten, Gap, Invalid, MemoryId,
    Proof, Rederivation, Scope, SessionId, Subject, TenantId, TraceId, UserId, Visibility,
};
use uuid::Uuid;

use crate::{
    enums::{memory_kind_from_proto, memory_kind_to_proto},
    memory::{correction_from_proto, correction_to_proto},
    scope::{scope_from_proto, visibility_to_proto},
    time::{optional_time_from_proto, time_from_proto, time_to_proto},
};

pub fn subject_to_proto(subject: &Subject) -> pb::ForgettingSubject {
    use pb::forgetting_subject::Subject as Pb;
    let subject = match subject {
        Subject::User(user) => Pb::User(user.to_string()),
        Subject::Run(trace) => Pb::TraceId(trace.to_string()),
        Subject::Taught(trace) => Pb::TaughtBy(trace.to_string()),
        Subject::Memory(kind, id) => {
            Pb::Memory(pb::ForgottenMemory { kind: memory_kind_to_proto(*kind), memory_id: id.to_string() })
        }
    };
    pb::ForgettingSubject { subject: Some(subject) }
}

pub fn subject_from_proto(subject: Option<pb::ForgettingSubject>) -> Result<Subject, Invalid> {
    use pb::forgetting_subject::Subject as Pb;
    match subject.and_then(|s| s.subject).ok_or_else(|| Invalid::new("subject", "is required"))? {
        Pb::User(user) => Ok(Subject::User(UserId::new(user)?)),
        Pb::TraceId(trace) => Ok(Subject::Run(TraceId::new(trace)?)),
        Pb::TaughtBy(trace) => Ok(Subject::Taught(TraceId::new(trace)?)),
        Pb::Memory(m) => Ok(Subject::Memory(memory_kind_from_proto(m.kind)?, MemoryId::parse(&m.memory_id)?)),
    }
}

pub fn forgetting_to_proto(f: &Forgetting) -> pb::Forgetting {
    let (state, failure) = match &f.state {
        ForgettingState::Erasing => (pb::ForgettingState::Erasing, ""),
        ForgettingState::Vacuuming => (pb::ForgettingState::Vacuuming, ""),
        ForgettingState::Proving => (pb::ForgettingState::Proving, ""),
        ForgettingState::Done => (pb::ForgettingState::Done, ""),
        ForgettingState::Failed { reason } => (pb::ForgettingState::Failed, reason.as_str()),
    };
    pb::Forgetting {
        id: f.id.to_string(),
        subject: Some(subject_to_proto(&f.subject)),
        reason: f.reason.clone(),
        requested_by: f.requested_by.clone(),
        at: Some(time_to_proto(f.at)),
        state: state as i32,
        failure: failure.to_owned(),
        removed: counts(&f.removed),
        rederived: f.rederived,
        letters: f.letters,
        proof: f.proof.as_ref().map(proof_to_proto),
        updated_at: Some(time_to_proto(f.updated_at)),
        ended_at: f.ended_at.map(time_to_proto),
    }
}

fn counts<A, B>(counts: &A) -> B
where
    for<'a> &'a A: IntoIterator<Item = (&'a String, &'a u64)>,
    B: FromIterator<(String, u64)>,
{
    counts.into_iter().map(|(name, count)| (name.clone(), *count)).collect()
}

fn proof_to_proto(proof: &Proof) -> pb::ForgettingProof {
    pb::ForgettingProof {
        remaining: counts(&proof.remaining),
        probes: proof.probes,
        files: proof.files.map(|f| pb::FilesSearched {
            files: f.files,
            bytes: f.bytes,
            found: f.found,
            said_by_others: f.said_by_others,
        }),
        out_of_reach: proof.out_of_reach.clone(),
    }
}

fn proof_from_proto(proof: pb::ForgettingProof) -> Proof {
    Proof {
        remaining: counts(&proof.remaining),
        probes: proof.probes,
        files: proof.files.map(|f| FilesSearched {
            files: f.files,
            bytes: f.bytes,
            found: f.found,
            said_by_others: f.said_by_others,
        }),
        out_of_reach: proof.out_of_reach,
    }
}

fn state_from_proto(state: i32, reason: String) -> Result<ForgettingState, Invalid> {
    use pb::ForgettingState as Pb;
    match Pb::try_from(state) {
        Ok(Pb::Erasing) => Ok(ForgettingState::Erasing),
        Ok(Pb::Vacuuming) => Ok(ForgettingState::Vacuuming),
        Ok(Pb::Proving) => Ok(ForgettingState::Proving),
        Ok(Pb::Done) => Ok(ForgettingState::Done),
        Ok(Pb::Failed) => Ok(ForgettingState::Failed { reason }),
        Ok(Pb::Unspecified) | Err(_) => {
            Err(Invalid::new("state", format!("{state} is not a value of this enum")))
        }
    }
}

pub(crate) fn forgotten_to_proto(forgotten: &Forgotten) -> PbForgotten {
    PbForgotten { subject: Some(subject_to_proto(&forgotten.subject)), at: Some(time_to_proto(forgotten.at)) }
}

pub(crate) fn forgotten_from_proto(tenant: TenantId, forgotten: PbForgotten) -> Result<Forgotten, Invalid> {
    Ok(Forgotten {
        scope: Scope::new(tenant, Visibility::Tenant),
        subject: subject_from_proto(forgotten.subject)?,
        at: time_from_proto("at", forgotten.at)?,
    })
}

pub(crate) fn forgetting_record_to_proto(f: &Forgetting) -> ForgettingRecord {
    ForgettingRecord {
        forgetting: Some(forgetting_to_proto(f)),
        collection: f.batch.collection.clone(),
        points: f.batch.points.iter().map(Uuid::to_string).collect(),
        former: f.batch.former.iter().map(Uuid::to_string).collect(),
        recounted: f.batch.recounted.iter().map(ToString::to_string).collect(),
        rederived: f
            .batch
            .rederived
            .iter()
            .map(|r| PbRederivation {
                kind: memory_kind_to_proto(r.kind),
                memory_id: r.memory.to_string(),
                scope: Some(visibility_to_proto(&r.visibility)),
                trace_ids: r.runs.iter().map(ToString::to_string).collect(),
                correction: r.correction.as_ref().map(|c| correction_to_proto(r.memory, c)),
            })
            .collect(),
        gaps: f
            .batch
            .gaps
            .iter()
            .map(|g| PbGap {
                scope: Some(visibility_to_proto(&g.visibility)),
                session: g.session.to_string(),
                at: Some(time_to_proto(g.at)),
            })
            .collect(),
        changed: f
            .batch
            .changed
            .iter()
            .map(|(kind, visibility)| PbChange {
                kind: memory_kind_to_proto(*kind),
                scope: Some(visibility_to_proto(visibility)),
            })
            .collect(),
        probes: f.probes.iter().copied().collect(),
        vacuumed: f.vacuumed.iter().cloned().collect(),
        rounds: f.rounds,
        revision: f.revision,
        erased_at: f.erased_at.map(time_to_proto),
    }
}

pub(crate) fn forgetting_record_from_proto(
    tenant: &TenantId,
    record: ForgettingRecord,
) -> Result<Forgetting, Invalid> {
    let batch = batch_from_proto(tenant, &record)?;
    let f = record.forgetting.ok_or_else(|| Invalid::new("forgetting", "is required"))?;
    Ok(Forgetting {
        id: ForgettingId::parse(&f.id)?,
        scope: Scope::new(tenant.clone(), Visibility::Tenant),
        subject: subject_from_proto(f.subject)?,
        reason: f.reason,
        requested_by: f.requested_by,
        at: time_from_proto("at", f.at)?,
        state: state_from_proto(f.state, f.failure)?,
        removed: counts::<_, BTreeMap<_, _>>(&f.removed),
        rederived: f.rederived,
        letters: f.letters,
        batch,
        probes: record.probes.into_iter().collect(),
        vacuumed: record.vacuumed.into_iter().collect(),
        rounds: record.rounds,
        proof: f.proof.map(proof_from_proto),
        revision: record.revision,
        updated_at: time_from_proto("updated_at", f.updated_at)?,
        erased_at: optional_time_from_proto("erased_at", record.erased_at)?,
        ended_at: optional_time_from_proto("ended_at", f.ended_at)?,
    })
}

fn batch_from_proto(tenant: &TenantId, record: &ForgettingRecord) -> Result<Batch, Invalid> {
    let point = |p: &String| {
        Uuid::parse_str(p).map_err(|e| Invalid::new("points", format!("`{p}` is not a UUID: {e}")))
    };
    let rederivation = |r: &PbRederivation| {
        Ok::<_, Invalid>(Rederivation {
            kind: memory_kind_from_proto(r.kind)?,
            memory: MemoryId::parse(&r.memory_id)?,
            visibility: scope_from_proto(tenant, r.scope.clone())?.visibility,
            runs: r.trace_ids.iter().map(TraceId::new).collect::<Result<_, _>>()?,
            correction: r.correction.clone().map(correction_from_proto).transpose()?.map(|(_, c)| c),
        })
    };
    let gap = |g: &PbGap| {
        Ok::<_, Invalid>(Gap {
            visibility: scope_from_proto(tenant, g.scope.clone())?.visibility,
            session: SessionId::new(g.session.clone())?,
            at: time_from_proto("at", g.at)?,
        })
    };
    let change = |c: &PbChange| {
        Ok::<_, Invalid>((
            memory_kind_from_proto(c.kind)?,
            scope_from_proto(tenant, c.scope.clone())?.visibility,
        ))
    };
    Ok(Batch {
        collection: record.collection.clone(),
        points: record.points.iter().map(point).collect::<Result<_, _>>()?,
        former: record.former.iter().map(point).collect::<Result<_, _>>()?,
        recounted: record.recounted.iter().map(|id| MemoryId::parse(id)).collect::<Result<_, _>>()?,
        rederived: record.rederived.iter().map(rederivation).collect::<Result<_, _>>()?,
        gaps: record.gaps.iter().map(gap).collect::<Result<_, _>>()?,
        changed: record.changed.iter().map(change).collect::<Result<_, _>>()?,
    })
}
