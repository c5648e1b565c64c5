use hindsight_proto::{
    common::v1::{self as pb, compaction_work::Work as Pb},
    storage::v1::CompactionRunRecord,
};
use hindsight_types::{
    CompactionRun, CompactionRunId, CompactionTask, CompactionTaskId, ForgettingId, Invalid, MemoryId,
    Policy, RunState, Scope, TaskCounts, TaskState, TenantId, TraceId, Trigger, Visibility, Work,
};

use crate::{
    enums::{memory_kind_from_proto, memory_kind_to_proto},
    memory::{correction_from_proto, correction_to_proto},
    scope::{scope_from_proto, visibility_to_proto},
    time::{optional_time_from_proto, time_from_proto, time_to_proto},
};

pub fn policy_to_proto(policy: Policy) -> i32 {
    let policy = match policy {
        Policy::RawEvents => pb::CompactionPolicy::RawEvents,
        Policy::Lessons => pb::CompactionPolicy::Lessons,
        Policy::FailurePatterns => pb::CompactionPolicy::FailurePatterns,
        Policy::Condense => pb::CompactionPolicy::Condense,
        Policy::Merge => pb::CompactionPolicy::Merge,
        Policy::Archive => pb::CompactionPolicy::Archive,
        Policy::Contradictions => pb::CompactionPolicy::Contradictions,
        Policy::Facts => pb::CompactionPolicy::Facts,
    };
    policy as i32
}

/// `None`: unspecified.
pub fn policy_from_proto(policy: i32) -> Result<Option<Policy>, Invalid> {
    let all = Policy::ALL.into_iter();
    match all.into_iter().find(|p| policy_to_proto(*p) == policy) {
        None if policy == pb::CompactionPolicy::Unspecified as i32 => Ok(None),
        None => Err(Invalid::new("policy", format!("{policy} is not a value of this enum"))),
        known => Ok(known),
    }
}

pub fn compaction_run_to_proto(run: &CompactionRun) -> pb::CompactionRun {
    let trigger = match run.trigger {
        Trigger::Schedule => pb::CompactionTrigger::Schedule,
        Trigger::Request => pb::CompactionTrigger::Request,
        Trigger::Threshold => pb::CompactionTrigger::Threshold,
    };
    let (state, reason) = match &run.state {
        RunState::Planning => (pb::CompactionRunState::Planning, ""),
        RunState::Working => (pb::CompactionRunState::Working, ""),
        RunState::Done => (pb::CompactionRunState::Done, ""),
        RunState::Failed { reason } => (pb::CompactionRunState::Failed, reason.as_str()),
    };
    pb::CompactionRun {
        id: run.id.to_string(),
        policy: policy_to_proto(run.policy),
        trigger: trigger as i32,
        state: state as i32,
        reason: reason.to_owned(),
        due_at: Some(time_to_proto(run.due_at)),
        started_at: Some(time_to_proto(run.started_at)),
        published_at: run.published_at.map(time_to_proto),
        ended_at: run.ended_at.map(time_to_proto),
        cut: run.cut,
        planned: run.counts.planned,
        done: run.counts.done,
        skipped: run.counts.skipped,
        failed: run.counts.failed,
    }
}

pub(crate) fn run_record_to_proto(run: &CompactionRun) -> CompactionRunRecord {
    CompactionRunRecord {
        run: Some(compaction_run_to_proto(run)),
        cursor: run.cursor.clone(),
        revision: run.revision,
    }
}

pub(crate) fn run_record_from_proto(
    tenant: TenantId,
    record: CompactionRunRecord,
) -> Result<CompactionRun, Invalid> {
    let run = record.run.ok_or_else(|| Invalid::new("run", "is required"))?;
    Ok(CompactionRun {
        id: CompactionRunId::parse(&run.id)?,
        scope: Scope::new(tenant, Visibility::Tenant),
        policy: policy_from_proto(run.policy)?.ok_or_else(|| Invalid::new("policy", "is required"))?,
        trigger: match pb::CompactionTrigger::try_from(run.trigger) {
            Ok(pb::CompactionTrigger::Schedule) => Trigger::Schedule,
            Ok(pb::CompactionTrigger::Request) => Trigger::Request,
            Ok(pb::CompactionTrigger::Threshold) => Trigger::Threshold,
            _ => return Err(unknown("trigger", run.trigger)),
        },
        state: match pb::CompactionRunState::try_from(run.state) {
            Ok(pb::CompactionRunState::Planning) => RunState::Planning,
            Ok(pb::CompactionRunState::Working) => RunState::Working,
            Ok(pb::CompactionRunState::Done) => RunState::Done,
            Ok(pb::CompactionRunState::Failed) => RunState::Failed { reason: run.reason },
            _ => return Err(unknown("state", run.state)),
        },
        due_at: time_from_proto("due_at", run.due_at)?,
        started_at: time_from_proto("started_at", run.started_at)?,
        published_at: optional_time_from_proto("published_at", run.published_at)?,
        ended_at: optional_time_from_proto("ended_at", run.ended_at)?,
        cursor: record.cursor,
        cut: run.cut,
        counts: TaskCounts { planned: run.planned, done: run.done, skipped: run.skipped, failed: run.failed },
        revision: record.revision,
    })
}

pub fn compaction_task_to_proto(task: &CompactionTask) -> pb::CompactionTask {
    let (state, reason) = match &task.state {
        TaskState::Planned => (pb::CompactionTaskState::Planned, ""),
        TaskState::Done => (pb::CompactionTaskState::Done, ""),
        TaskState::Skipped { why } => (pb::CompactionTaskState::Skipped, why.as_str()),
        TaskState::Failed { why } => (pb::CompactionTaskState::Failed, why.as_str()),
    };
    pb::CompactionTask {
        id: task.id.to_string(),
        run_id: task.run.map(|id| id.to_string()).unwrap_or_default(),
        work: Some(pb::CompactionWork { work: Some(work_to_proto(&task.work)) }),
        why: task.why.clone(),
        state: state as i32,
        reason: reason.to_owned(),
        planned_at: Some(time_to_proto(task.planned_at)),
        ended_at: task.ended_at.map(time_to_proto),
    }
}

pub fn compaction_task_from_proto(
    tenant: &TenantId,
    task: pb::CompactionTask,
) -> Result<CompactionTask, Invalid> {
    let why = task.reason;
    let work = task.work.and_then(|w| w.work).ok_or_else(|| Invalid::new("work", "is required"))?;
    Ok(CompactionTask {
        id: CompactionTaskId::parse(&task.id)?,
        scope: Scope::new(tenant.clone(), Visibility::Tenant),
        run: match task.run_id.as_str() {
            "" => None,
            id => Some(CompactionRunId::parse(id)?),
        },
        work: work_from_proto(tenant, work).map_err(|e| e.within("work"))?,
        why: task.why,
        state: match pb::CompactionTaskState::try_from(task.state) {
            Ok(pb::CompactionTaskState::Planned) => TaskState::Planned,
            Ok(pb::CompactionTaskState::Done) => TaskState::Done,
            Ok(pb::CompactionTaskState::Skipped) => TaskState::Skipped { why },
            Ok(pb::CompactionTaskState::Failed) => TaskState::Failed { why },
            _ => return Err(unknown("state", task.state)),
        },
        planned_at: time_from_proto("planned_at", task.planned_at)?,
        ended_at: optional_time_from_proto("ended_at", task.ended_at)?,
    })
}

fn unknown(field: &str, value: i32) -> Invalid {
    Invalid::new(field, format!("{value} is not a value that is known here"))
}

fn work_to_proto(work: &Work) -> Pb {
    let text = |ids: &[MemoryId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    match work {
        Work::Restage { lessons } => Pb::Restage(pb::RestageWork { lesson_ids: text(lessons) }),
        Work::ExpireEvents { traces } => {
            let trace_ids = traces.iter().map(ToString::to_string).collect();
            Pb::ExpireEvents(pb::ExpireEventsWork { trace_ids })
        }
        Work::Recount { patterns } => Pb::Recount(pb::RecountWork { failure_pattern_ids: text(patterns) }),
        Work::Condense { sources } => Pb::Condense(pb::CondenseWork { experience_ids: text(sources) }),
        Work::Merge { kind, keep, duplicates } => Pb::Merge(pb::MergeWork {
            kind: memory_kind_to_proto(*kind),
            keep_id: keep.to_string(),
            duplicate_ids: text(duplicates),
        }),
        Work::Archive { kind, memories, surplus } => Pb::Archive(pb::ArchiveWork {
            kind: memory_kind_to_proto(*kind),
            memory_ids: text(memories),
            surplus: *surplus,
        }),
        Work::ExpireArchived { kind, memories } => Pb::ExpireArchived(pb::ExpireArchivedWork {
            kind: memory_kind_to_proto(*kind),
            memory_ids: text(memories),
        }),
        Work::Supersede { kind, newer, older } => Pb::Supersede(pb::SupersedeWork {
            kind: memory_kind_to_proto(*kind),
            newer_id: newer.to_string(),
            older_ids: text(older),
        }),
        Work::ExpireFacts { facts } => Pb::ExpireFacts(pb::ExpireFactsWork { fact_ids: text(facts) }),
        Work::Rederive { kind, memories, runs, visibility, corrections } => Pb::Rederive(pb::RederiveWork {
            kind: memory_kind_to_proto(*kind),
            memory_ids: text(memories),
            trace_ids: runs.iter().map(ToString::to_string).collect(),
            scope: Some(visibility_to_proto(visibility)),
            corrections: corrections.iter().map(|(id, c)| correction_to_proto(*id, c)).collect(),
        }),
        Work::Forget { forgetting } => Pb::Forget(pb::ForgetWork { forgetting_id: forgetting.to_string() }),
    }
}

fn work_from_proto(tenant: &TenantId, work: Pb) -> Result<Work, Invalid> {
    Ok(match work {
        Pb::Restage(w) => Work::Restage { lessons: memories("restage.lesson_ids", &w.lesson_ids)? },
        Pb::ExpireEvents(w) => {
            bounded("expire_events.trace_ids", w.trace_ids.len())?;
            let traces = w.trace_ids.into_iter().map(TraceId::new).collect::<Result<_, _>>()?;
            Work::ExpireEvents { traces }
        }
        Pb::Recount(w) => {
            Work::Recount { patterns: memories("recount.failure_pattern_ids", &w.failure_pattern_ids)? }
        }
        Pb::Condense(w) => {
            Work::Condense { sources: memories("condense.experience_ids", &w.experience_ids)? }
        }
        Pb::Merge(w) => Work::Merge {
            kind: memory_kind_from_proto(w.kind)?,
            keep: MemoryId::parse(&w.keep_id)?,
            duplicates: memories("merge.duplicate_ids", &w.duplicate_ids)?,
        },
        Pb::Archive(w) => Work::Archive {
            kind: memory_kind_from_proto(w.kind)?,
            memories: memories("archive.memory_ids", &w.memory_ids)?,
            surplus: w.surplus,
        },
        Pb::ExpireArchived(w) => Work::ExpireArchived {
            kind: memory_kind_from_proto(w.kind)?,
            memories: memories("expire_archived.memory_ids", &w.memory_ids)?,
        },
        Pb::Supersede(w) => Work::Supersede {
            kind: memory_kind_from_proto(w.kind)?,
            newer: MemoryId::parse(&w.newer_id)?,
            older: memories("supersede.older_ids", &w.older_ids)?,
        },
        Pb::ExpireFacts(w) => Work::ExpireFacts { facts: memories("expire_facts.fact_ids", &w.fact_ids)? },
        Pb::Rederive(w) => Work::Rederive {
            kind: memory_kind_from_proto(w.kind)?,
            memories: memories("rederive.memory_ids", &w.memory_ids)?,
            runs: {
                bounded("rederive.trace_ids", w.trace_ids.len())?;
                w.trace_ids.into_iter().map(TraceId::new).collect::<Result<_, _>>()?
            },
            visibility: scope_from_proto(tenant, w.scope)?.visibility,
            corrections: {
                bounded("rederive.corrections", w.corrections.len())?;
                w.corrections.into_iter().map(correction_from_proto).collect::<Result<_, _>>()?
            },
        },
        Pb::Forget(w) => Work::Forget { forgetting: ForgettingId::parse(&w.forgetting_id)? },
    })
}

fn memories(field: &str, ids: &[String]) -> Result<Vec<MemoryId>, Invalid> {
    bounded(field, ids.len())?;
    ids.iter().map(|id| MemoryId::parse(id)).collect()
}

fn bounded(field: &str, ids: usize) -> Result<(), Invalid> {
    if ids <= Work::LARGEST {
        return Ok(());
    }
    Err(Invalid::new(field, format!("has {ids}; at most {} are accepted", Work::LARGEST)))
}

#[cfg(test)]
mod tests;
