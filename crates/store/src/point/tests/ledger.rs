//! Lines of the ledger and reviews as this version writes them, and as they were written before.

use hindsight_ports::testkit::samples::{experience, failure_pattern, time};
use hindsight_types::{
    Evidence, EvidenceId, EvidenceOrigin, Exposure, MemoryId, OutcomeStatus, Review, ReviewDecision,
    ReviewId, Verdict,
};

use super::*;

/// Before a line told how it came about.
const LINE_OF_BEFORE: &str = "CgRhY21lEggIAhIEYW5uYTprCiQwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDESJDAwMDAwMDAwLTAwMDAt\
             MDAwMC0wMDAwLTAwMDAwMDAwMDAwNxoICAISBGFubmEiAXQoATABOAFAA0hkUgYIhcri0AY=";
const LINE: &str = "CgRhY21lEggIAhIEYW5uYTp3CiQwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDESJDAwMDAwMDAwLTAwMDAt\
             MDAwMC0wMDAwLTAwMDAwMDAwMDAwNxoICAISBGFubmEiAXQoATABOAFAA0hkUgYIhcri0AZYA2ACagYIicri0AY=";
const REVIEW: &str = "CgRhY21lEggIAhIEYW5uYWJ6CiQwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDISJDAwMDAwMDAwLTAwMDAt\
             MDAwMC0wMDAwLTAwMDAwMDAwMDAwNxoICAISBGFubmEgASoDb3BzMhPor5Xov4fkuoYsIHRyaWVkIGl0OgYIhsri0AY=";

fn of_before() -> Evidence {
    Evidence {
        id: EvidenceId(Uuid::from_u128(1)),
        memory_id: MemoryId(Uuid::from_u128(7)),
        scope: private(&tenant("acme"), "anna"),
        trace_id: trace("t"),
        verdict: Verdict::Supported,
        exposure: Exposure::Injected,
        // Only who acted on a receipt told anything.
        origin: EvidenceOrigin::Reported,
        outcome: OutcomeStatus::Success,
        outcome_from: None,
        steps: 3,
        tokens: 100,
        at: time(5),
    }
}

fn line() -> Evidence {
    Evidence { outcome_from: Some((EvidenceOrigin::Credited, time(9))), ..of_before() }
}

fn review() -> Review {
    Review {
        id: ReviewId(Uuid::from_u128(2)),
        memory_id: line().memory_id,
        scope: line().scope,
        decision: ReviewDecision::Approved,
        by: "ops".to_owned(),
        reason: "试过了, tried it".to_owned(),
        at: time(6),
    }
}

#[test]
fn the_ledger_is_written_like_this() {
    let common = [r#"tenant="acme""#, r#"visibility="user:anna""#];
    let memory = r#"memory_id="00000000-0000-0000-0000-000000000007""#;
    let point = of(&line());
    let own =
        ["at=1780000005000000", memory, common[0], r#"trace_id="t""#, r#"verdict="supported""#, common[1]];
    assert_eq!(shown(&point.payload), own);
    assert_eq!(text(&point.payload, field::RECORD), Some(LINE));
    let point = of(&review());
    let own = ["at=1780000006000000", r#"decision="approved""#, memory, common[0], common[1]];
    assert_eq!(shown(&point.payload), own);
    assert_eq!(text(&point.payload, field::RECORD), Some(REVIEW));
}

#[test]
fn the_ledger_of_every_version_is_read() {
    let point = |key: Uuid, record: &str| RetrievedPoint {
        id: Some(to_point_id(id(&tenant("acme"), key))),
        payload: HashMap::from([
            (field::TENANT.to_owned(), "acme".into()),
            (field::VISIBILITY.to_owned(), "user:anna".into()),
            (field::RECORD.to_owned(), record.into()),
        ]),
        ..Default::default()
    };
    let of = |record: &str| decode::<Evidence>(&point(line().id.0, record)).unwrap();
    assert_eq!(of(LINE), line());
    assert_eq!(of(LINE_OF_BEFORE), of_before());
    assert_eq!(decode::<Review>(&point(review().id.0, REVIEW)).unwrap(), review());
}

#[test]
fn what_the_ledger_counts_is_kept() {
    let scope = private(&tenant("acme"), "anna");
    let Memory::Experience(mut run) = experience(&scope, &trace("t"), 60) else { panic!("not a run") };
    (run.supported, run.refuted) = (2, 1);
    let mut pattern = failure_pattern(&scope, "docker_pull", &["t"], 60);
    (pattern.supported, pattern.refuted) = (3, 4);
    for memory in [Memory::Experience(run), Memory::FailurePattern(pattern)] {
        assert_eq!(decode::<Memory>(&retrieved(of(&memory))).unwrap(), memory);
    }
}
