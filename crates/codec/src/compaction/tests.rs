use hindsight_types::{
    Correction, ForgettingId, MemoryKind, Revision, RevisionCause, Timestamp, UserId, Visibility,
};
use uuid::Uuid;

use super::*;
use crate::{Record, RecordBody, record_from_proto, record_to_proto};

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn ids(n: u128) -> Vec<MemoryId> {
    (1..=n).map(|n| MemoryId(Uuid::from_u128(n))).collect()
}

fn works() -> Vec<Work> {
    let (kind, one) = (MemoryKind::Lesson, ids(1)[0]);
    vec![
        Work::Restage { lessons: ids(2) },
        Work::ExpireEvents { traces: vec![TraceId::new("t-1").unwrap(), TraceId::new("任务").unwrap()] },
        Work::Recount { patterns: ids(3) },
        Work::Condense { sources: ids(4) },
        Work::Merge { kind, keep: one, duplicates: ids(2) },
        Work::Archive { kind: MemoryKind::Experience, memories: ids(100), surplus: false },
        Work::Archive { kind: MemoryKind::Step, memories: ids(2), surplus: true },
        Work::ExpireArchived { kind: MemoryKind::Lesson, memories: ids(3) },
        Work::Supersede { kind, newer: one, older: ids(2) },
        Work::ExpireFacts { facts: ids(1) },
        Work::Rederive {
            kind,
            memories: ids(2),
            runs: vec![TraceId::new("t-2").unwrap()],
            visibility: Visibility::User(UserId::new("ann").unwrap()),
            corrections: vec![
                (one, correction(Some(revision()))),
                (MemoryId(Uuid::from_u128(77)), correction(None)),
            ],
        },
        Work::Forget { forgetting: ForgettingId(Uuid::from_u128(9)) },
    ]
}

fn correction(revision: Option<Revision>) -> Correction {
    Correction {
        situation: String::new(),
        advice: "先看日志, then restart".to_owned(),
        applicability: "in prod".to_owned(),
        revision,
    }
}

fn revision() -> Revision {
    Revision {
        at: at(4),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "it was wrong".to_owned(),
        request_id: "r-1".to_owned(),
    }
}

fn run() -> CompactionRun {
    CompactionRun::due(tenant(), Policy::RawEvents, Trigger::Schedule, at(3), at(5))
}

#[test]
fn a_task_survives_the_wire_and_the_store_whatever_its_work() {
    let states = [
        TaskState::Planned,
        TaskState::Done,
        TaskState::Skipped { why: "is gone".into() },
        TaskState::Failed { why: "the store is full".into() },
    ];
    for (n, work) in works().into_iter().enumerate() {
        let mut task = CompactionTask::of_run(&run(), work.clone(), "14 天前".into(), at(6));
        task.state = states[n % states.len()].clone();
        task.ended_at = (n % 2 == 0).then(|| at(9));
        let wire = compaction_task_to_proto(&task);
        assert_eq!(compaction_task_from_proto(&tenant(), wire).unwrap(), task);
        let record = Record(RecordBody::CompactionTask(task));
        assert_eq!(record_from_proto(record_to_proto(&record)).unwrap(), record);
        let triggered = CompactionTask::triggered(tenant(), work, String::new(), "t-1", at(6));
        let wire = compaction_task_to_proto(&triggered);
        assert_eq!(compaction_task_from_proto(&tenant(), wire).unwrap(), triggered);
    }
}

#[test]
fn a_run_survives_the_store() {
    let failed = RunState::Failed { reason: "no such page".into() };
    for (n, state) in [RunState::Planning, RunState::Working, RunState::Done, failed].into_iter().enumerate()
    {
        let n = n as u64;
        let run = CompactionRun {
            policy: Policy::ALL[n as usize],
            state,
            cursor: "p7".into(),
            cut: n.is_multiple_of(2),
            published_at: Some(at(7)),
            ended_at: (n > 1).then(|| at(8)),
            counts: TaskCounts { planned: 9, done: 4, skipped: 3, failed: n },
            revision: 5 + n,
            ..run()
        };
        let record = Record(RecordBody::CompactionRun(run));
        assert_eq!(record_from_proto(record_to_proto(&record)).unwrap(), record);
    }
}

#[test]
fn work_of_too_many_ids_is_refused_by_name() {
    let work = Work::Restage { lessons: ids(101) };
    let task = compaction_task_to_proto(&CompactionTask::of_run(&run(), work, String::new(), at(6)));
    let error = compaction_task_from_proto(&tenant(), task).unwrap_err();
    assert_eq!(error.fields[0].field, "work.restage.lesson_ids");
}

#[test]
fn policies_have_a_number_each() {
    for policy in Policy::ALL {
        assert_eq!(policy_from_proto(policy_to_proto(policy)).unwrap(), Some(policy));
    }
    assert_eq!(policy_from_proto(0).unwrap(), None);
    assert!(policy_from_proto(99).is_err());
}
