use crate::{
    CompactionRun, CompactionTask, MemoryId, MemoryKind, Policy, TenantId, Timestamp, Trigger, Work,
};
use uuid::Uuid;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(n: u128) -> MemoryId {
    MemoryId(Uuid::from_u128(n))
}

#[test]
fn policies_are_named_and_read_by_their_names() {
    for policy in Policy::ALL {
        assert_eq!(Policy::parse(policy.as_str()).unwrap(), policy);
    }
    let error = Policy::parse("rawevents").unwrap_err().to_string();
    assert!(error.contains("raw-events") && error.contains("`rawevents`"), "{error}");
}

#[test]
fn a_run_is_the_same_for_tenant_policy_and_time() {
    let run = |t: &str, policy, due| {
        CompactionRun::due(tenant(t), policy, Trigger::Schedule, at(due), at(due + 7)).id
    };
    assert_eq!(run("a", Policy::Merge, 5), run("a", Policy::Merge, 5));
    let others = [run("b", Policy::Merge, 5), run("a", Policy::Facts, 5), run("a", Policy::Merge, 6)];
    for other in others {
        assert_ne!(run("a", Policy::Merge, 5), other);
    }
    let asked = |request| CompactionRun::requested(tenant("a"), Policy::Merge, request, at(5)).id;
    assert_eq!(asked("r1"), asked("r1"));
    assert_ne!(asked("r1"), asked("r2"));
    assert_ne!(asked("r1"), run("a", Policy::Merge, 5));
}

#[test]
fn a_task_is_the_same_for_the_same_work_in_a_run() {
    let run = CompactionRun::due(tenant("a"), Policy::Merge, Trigger::Schedule, at(5), at(5));
    let task = |work, why: &str, now| CompactionTask::of_run(&run, work, why.to_owned(), at(now)).id;
    let merge = |kind, keep, rest: &[u128]| Work::Merge {
        kind,
        keep: id(keep),
        duplicates: rest.iter().map(|n| id(*n)).collect(),
    };
    let one = task(merge(MemoryKind::Lesson, 1, &[2, 3]), "alike", 6);
    assert_eq!(one, task(merge(MemoryKind::Lesson, 1, &[2, 3]), "told otherwise", 9));
    for other in [
        merge(MemoryKind::Lesson, 2, &[1, 3]),
        merge(MemoryKind::Fact, 1, &[2, 3]),
        merge(MemoryKind::Lesson, 1, &[2]),
        Work::Supersede { kind: MemoryKind::Lesson, newer: id(1), older: vec![id(2), id(3)] },
    ] {
        assert_ne!(one, task(other.clone(), "alike", 6), "{other:?}");
    }
}
