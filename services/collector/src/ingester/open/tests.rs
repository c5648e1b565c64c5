use hindsight_ports::testkit::samples::{shared, tenant, trace};
use hindsight_types::{EventId, Outcome, TaskCompleted, TaskStarted, Visibility};

use super::*;

const EVERY: Duration = Duration::from_secs(60);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn event(name: &str, body: EventBody) -> Event {
    let tenant = tenant("acme");
    Event {
        event_id: EventId::derived(&tenant, &trace(name), "x"),
        scope: Scope::new(tenant, Visibility::Tenant),
        trace_id: trace(name),
        recorded_at: at(0),
        body,
    }
}

fn started(name: &str) -> Event {
    event(
        name,
        EventBody::Started(TaskStarted {
            goal: "g".to_owned(),
            session: None,
            user: None,
            agent: None,
            task_type: None,
            environment: Default::default(),
            receipts: Vec::new(),
        }),
    )
}

fn ended(name: &str) -> Event {
    event(name, EventBody::Completed(TaskCompleted { outcome: Outcome::default(), step_count: 0 }))
}

/// Traces that are marked and cleared.
fn names(marks: &Marks) -> (Vec<&str>, Vec<&str>) {
    (
        marks.open.iter().map(|t| t.trace_id.as_str()).collect(),
        marks.ended.iter().map(|(_, t)| t.as_str()).collect(),
    )
}

#[test]
fn a_task_is_marked_now_and_then_and_cleared_once() {
    let marked = Marked::default();
    let look = |events: &[Event], now| {
        let marks = marked.due(events, at(now), EVERY);
        marked.note(&marks);
        marks
    };
    assert_eq!(names(&look(&[started("a"), started("b")], 0)).0, ["a", "b"]);
    assert_eq!(names(&look(&[started("a")], 59)), (vec![], vec![]), "marked a moment ago");
    assert_eq!(names(&look(&[started("a")], 60)).0, ["a"]);
    assert_eq!(names(&look(&[ended("a")], 61)).1, ["a"]);
    assert_eq!(names(&look(&[ended("elsewhere")], 61)).1, ["elsewhere"], "another process marked it");
    assert_eq!(names(&look(&[started("whole"), ended("whole")], 62)), (vec![], vec![]));
    assert_eq!(names(&look(&[started("b"), ended("b")], 62)).1, ["b"], "it was marked before");
}

#[test]
fn a_task_is_of_the_scope_of_its_start() {
    let own = shared(&tenant("acme"));
    let mut step = started("a");
    step.scope = Scope { visibility: Visibility::User(hindsight_types::UserId::new("anna").unwrap()), ..own };
    let start = step.clone();
    let late = ended("other");
    let marks = Marked::default().due(&[start, late], at(0), EVERY);
    assert!(matches!(&marks.open[0].scope.visibility, Visibility::User(u) if u.as_str() == "anna"));
}
