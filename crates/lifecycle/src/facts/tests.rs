use hindsight_types::{Revision, RevisionCause};
use rstest::rstest;

use super::*;
use crate::samples::{day, fact};

fn revised(status: FactStatus, at: i64) -> Fact {
    let mut fact = fact("ann", "a", "I ordered a lamp", 1);
    fact.set_status(status, day(at));
    fact.revision = Some(Revision {
        at: day(at),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: String::new(),
        request_id: String::new(),
    });
    fact
}

#[rstest]
#[case(FactStatus::Open, 400, None)]
#[case(FactStatus::Resolved, 39, None)]
#[case(FactStatus::Resolved, 40, Some("resolved"))]
#[case(FactStatus::Obsolete, 99, None)]
#[case(FactStatus::Obsolete, 100, Some("obsolete"))]
fn a_fact_leaves_a_while_after_its_status_changed(
    #[case] status: FactStatus,
    #[case] now: i64,
    #[case] expected: Option<&str>,
) {
    assert_eq!(ended(&revised(status, 10), &FactSettings::default(), day(now)), expected);
    let old = Fact { revision: None, resolved_at: None, ..revised(status, 10) };
    assert_eq!(ended(&old, &FactSettings::default(), day(5)), None, "counted from when it was retained");
}

#[test]
fn an_expired_fact_leaves_whatever_its_status() {
    let mut fact = revised(FactStatus::Open, 10);
    fact.expires_at = Some(day(20));
    assert_eq!(ended(&fact, &FactSettings::default(), day(19)), None);
    assert_eq!(ended(&fact, &FactSettings::default(), day(20)), Some("expired"));
}

#[test]
fn tasks_are_of_one_user_and_bounded() {
    let mut all: Vec<Fact> =
        (0..250).map(|n| Fact { expires_at: Some(day(2)), ..fact("ann", &n.to_string(), "x", 1) }).collect();
    all.push(Fact { expires_at: Some(day(2)), ..fact("bob", "b", "x", 1) });
    all.push(fact("bob", "stays", "x", 1));
    let planned = plan(&all, &FactSettings::default(), day(3));
    let mut sizes: Vec<usize> = planned.iter().map(|p| p.facts.len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 50, 100, 100]);
    let removed = |f: &Fact| planned.iter().any(|p| p.scope == f.scope && p.facts.contains(&f.id));
    let left: Vec<Fact> = all.into_iter().filter(|f| !removed(f)).collect();
    assert_eq!(left.len(), 1);
    assert!(plan(&left, &FactSettings::default(), day(3)).is_empty());
}
