//! Records as this version writes them. What was written before must still be read, so keep a case when adding
//! another.

use std::collections::BTreeSet;

use hindsight_ports::testkit::samples::{tenant, time, trace, user};
use hindsight_types::{
    Batch, FilesSearched, ForgettingId, ForgettingState, Gap, MemoryId, MemoryKind, Proof, Rederivation,
    SessionId, Subject, Visibility,
};

use super::*;

const TOMBSTONE: &str = "CgRhY21lEgIIAfIBDwoFCgPlrokSBgiByuLQBg==";
const FORGETTING: &str = "CgRhY21lEgIIAfoByQMKxgEKJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwORIqGigIARIkMDAwMDAwMDAtMDAw\
     MC0wMDAwLTAwMDAtMDAwMDAwMDAwMDA3GgV3cm9uZyIDb3BzKgYIgcri0AYwBToac29tZWJvZHkgd3JpdGVzOyDov5jlnKjlhplC\
     CQoFZmFjdHMQA0gBUAJaIQoJCgVmYWN0cxABEAcaCQgDEIQHGAEgAiIHYmFja3Vwc2IGCIjK4tAGagYIicri0AYSB2xlc3NvbnMa\
     JDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMRokMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAy\
     IiQwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDMqOQgDEiQwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAw\
     MDAwMDQaAggBIgN0LTEiBuS7u+WKoTILCAESBwgCEgPlrok6EAUAAAAAAAAA//////////9ABkgEUgYIhsri0AZaFgoHCAISA+Wu\
     iRIDcy0xGgYIhcri0AZiBWZhY3Rz";

fn scope() -> Scope {
    Scope::new(tenant("acme"), Visibility::Tenant)
}

fn tombstone() -> Forgotten {
    Forgotten { scope: scope(), subject: Subject::User(user("安")), at: time(1) }
}

fn forgetting() -> Forgetting {
    let id = |n| MemoryId(Uuid::from_u128(n));
    let batch = Batch {
        collection: "lessons".to_owned(),
        points: vec![Uuid::from_u128(1), Uuid::from_u128(2)],
        former: Vec::new(),
        recounted: [id(3)].into(),
        rederived: vec![Rederivation {
            kind: MemoryKind::Lesson,
            memory: id(4),
            visibility: Visibility::Tenant,
            runs: vec![trace("t-1"), trace("任务")],
            correction: None,
        }],
        gaps: vec![Gap {
            visibility: Visibility::User(user("安")),
            session: SessionId::new("s-1").unwrap(),
            at: time(5),
        }],
        changed: vec![(MemoryKind::Fact, Visibility::User(user("安")))],
    };
    let proof = Proof {
        remaining: [("facts".to_owned(), 0), ("steps".to_owned(), 1)].into(),
        probes: 7,
        files: Some(FilesSearched { files: 3, bytes: 900, found: 1, said_by_others: 2 }),
        out_of_reach: vec!["backups".to_owned()],
    };
    Forgetting {
        state: ForgettingState::Failed { reason: "somebody writes; 还在写".to_owned() },
        // One entry: the order of a map in a message is open.
        removed: [("facts".to_owned(), 3)].into(),
        rederived: 1,
        letters: 2,
        batch,
        probes: BTreeSet::from([u64::MAX, 5]),
        vacuumed: ["facts".to_owned()].into(),
        rounds: 6,
        proof: Some(Proof { remaining: [("facts".to_owned(), 1)].into(), ..proof }),
        revision: 4,
        updated_at: time(8),
        erased_at: Some(time(6)),
        ended_at: Some(time(9)),
        ..Forgetting::begin(
            ForgettingId(Uuid::from_u128(9)),
            scope(),
            Subject::Memory(MemoryKind::Fact, id(7)),
            "wrong".to_owned(),
            "ops".to_owned(),
            time(1),
        )
    }
}

fn record(point: &PointStruct) -> &str {
    point::text(&point.payload, field::RECORD).unwrap()
}

fn read<T: Stored>(point: PointStruct, record: &str) -> T {
    let mut payload = point.payload;
    payload.insert(field::RECORD.to_owned(), record.into());
    point::decode(&RetrievedPoint { id: point.id, payload, ..RetrievedPoint::default() }).unwrap()
}

#[test]
fn a_tombstone_at_rest() {
    let point = point::of(&tombstone());
    assert_eq!(record(&point), TOMBSTONE);
    assert_eq!(read::<Forgotten>(point, TOMBSTONE), tombstone());
}

#[test]
fn a_forgetting_at_rest() {
    let point = point::of(&forgetting());
    assert_eq!(record(&point), FORGETTING);
    assert_eq!(read::<Forgetting>(point, FORGETTING), forgetting());
}

#[test]
fn every_subject_is_read_back() {
    for subject in
        [Subject::Run(trace("t")), Subject::Memory(MemoryKind::FailurePattern, MemoryId(Uuid::nil()))]
    {
        let tombstone = Forgotten { subject, ..tombstone() };
        let point = point::of(&tombstone);
        let record = record(&point).to_owned();
        assert_eq!(read::<Forgotten>(point, &record), tombstone);
    }
}
