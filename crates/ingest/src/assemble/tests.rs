use hindsight_types::UserId;
use proptest::prelude::*;

use super::*;
use crate::testing::run;

fn whole(a: Assembly) -> Trajectory {
    match a {
        Assembly::Complete(t) => *t,
        Assembly::Missing(gap) => panic!("incomplete: {gap}"),
    }
}

fn gap(a: Assembly) -> Gap {
    match a {
        Assembly::Missing(gap) => gap,
        Assembly::Complete(_) => panic!("complete"),
    }
}

#[test]
fn what_is_missing_is_named() {
    let mut events = split(run(40));
    events.retain(|e| matches!(e.body, EventBody::Completed(_)));
    let g = gap(assemble(events));
    assert_eq!((g.have, g.expected, g.which.len(), g.more), (0, Some(40), NAMED, 21));
    assert_eq!(g.which[..2], ["start", "step 0"]);
    assert_eq!(g.to_string().split("; ").nth(1), Some("0 steps are there of 40"));

    let mut events = split(run(3));
    events.pop();
    assert_eq!(gap(assemble(events)).which, ["completion"]);
}

#[test]
fn a_step_of_another_user_never_joins_a_run() {
    let user = |name: &str| Visibility::User(UserId::new(name).unwrap());
    let mut t = run(3);
    t.scope.visibility = user("ann");
    let mut events = split(t);
    events[2].scope.visibility = Visibility::Tenant;
    assert_eq!(whole(assemble(events.clone())).scope.visibility, user("ann"));
    events[2].scope.visibility = user("bob");
    let g = gap(assemble(events));
    assert_eq!((g.which, g.foreign), (vec!["step 1".to_owned()], 1));
}

#[test]
fn the_text_fills_in_status_and_environment() {
    let mut t = run(2);
    t.steps[1].observation = "Error from server (NotFound): pods \"web-1\" not found".to_owned();
    let t = whole(assemble(split(t)));
    assert_eq!(t.steps[1].status, StepStatus::Error);
    assert_eq!(t.environment.tags, ["k8s"]);
}

#[test]
fn ids_depend_on_tenant_and_trace_only() {
    let (a, b) = (split(run(2)), split(run(2)));
    assert_eq!(
        a.iter().map(|e| e.event_id).collect::<Vec<_>>(),
        b.iter().map(|e| e.event_id).collect::<Vec<_>>()
    );
    let mut other = run(2);
    other.trace_id = TraceId::new("trace-2").unwrap();
    assert!(split(other).iter().all(|e| a.iter().all(|f| f.event_id != e.event_id)));
}

proptest! {
    /// Any order, any repeats: the same run; any step less: never judged half.
    #[test]
    fn order_and_repeats_do_not_matter(
        steps in 0u32..8,
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        lost in any::<prop::sample::Index>(),
    ) {
        let all = split(run(steps));
        let expected = whole(assemble(all.clone()));
        let mut shuffled: Vec<Event> = order.iter().map(|i| i.get(&all).clone()).collect();
        shuffled.extend(all.iter().rev().cloned());
        prop_assert_eq!(&whole(assemble(shuffled)), &expected);

        let mut fewer = all;
        fewer.remove(lost.index(fewer.len()));
        prop_assert!(!gap(assemble(fewer)).which.is_empty());
    }
}

#[test]
fn a_start_that_comes_again_adds_its_receipts_whenever_it_was_recorded() {
    let events = split(run(2));
    let again = |receipts: &[ReceiptId], seconds: i64| {
        let mut event = events[0].clone();
        event.event_id = EventId::derived(&event.scope.tenant, &event.trace_id, &format!("{receipts:?}"));
        event.recorded_at += jiff::SignedDuration::from_secs(seconds);
        let EventBody::Started(start) = &mut event.body else { panic!("{event:?}") };
        start.goal.push_str(" again");
        start.receipts = receipts.to_vec();
        event
    };
    let told = |more: Vec<Event>| whole(assemble(events.iter().cloned().chain(more).collect()));
    let first = whole(assemble(events.clone()));
    let new: Vec<ReceiptId> = (0..100).map(|_| ReceiptId::generate()).collect();
    let run = told(vec![again(&new[..1], 10), again(&new[..2], 20), again(&new[..1], 10)]);
    assert_eq!(run.receipts, [&*first.receipts, &new[..2]].concat());
    assert_eq!((run.task_description, run.started_at), (first.task_description, first.started_at));
    assert_eq!(told(vec![again(&new[..1], -10)]).receipts[0], new[0]);
    assert_eq!(told(vec![again(&new, 1)]).receipts.len(), limits::TAGS);
}

#[test]
fn a_run_that_has_grown_ends_again() {
    let (short, long) = (split(run(2)), split(run(4)));
    let both: Vec<Event> = short.iter().chain(&long).cloned().collect();
    assert_eq!(whole(assemble(both)).steps.len(), 4);
    let ends: Vec<_> = [&short, &long].map(|events| events.last().unwrap().event_id).to_vec();
    assert_ne!(ends[0], ends[1]);
    let mut half = short;
    half.push(long.last().unwrap().clone());
    assert_eq!(gap(assemble(half)).which, ["step 2", "step 3"], "it is not judged as it was before");
}

#[test]
fn an_abandoned_run_ends_as_of_its_last_event() {
    let whole_run = split(run(3));
    assert_eq!(ending(&whole_run), None, "it has ended");
    assert_eq!(ending(&[]), None);
    let mut open = whole_run[..3].to_vec();
    let end = ending(&open).unwrap();
    let EventBody::Completed(c) = &end.body else { panic!("{end:?}") };
    assert_eq!((c.step_count, c.outcome.status), (2, OutcomeStatus::Unknown));
    assert_eq!(end.recorded_at, open.iter().map(|e| e.recorded_at).max().unwrap());
    open.reverse();
    assert_eq!(ending(&open).unwrap(), end, "whoever says so says the same");
    open.push(end.clone());
    assert_eq!(whole(assemble(open.clone())).steps.len(), 2);
    // The agent ends it after all, with the same steps: that says more.
    let mut spoken = split(run(2)).pop().unwrap();
    let EventBody::Completed(c) = &mut spoken.body else { panic!("{spoken:?}") };
    c.outcome.status = OutcomeStatus::Success;
    assert_ne!(spoken.event_id, end.event_id);
    open.push(Event { recorded_at: end.recorded_at, ..spoken });
    assert_eq!(whole(assemble(open)).outcome.status, OutcomeStatus::Success);
}
