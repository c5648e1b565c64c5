use hindsight_types::{EventId, UserId, Visibility};
use proptest::prelude::*;

use super::*;
use crate::testing::{run, seconds, step};

fn fields(result: Result<(), Invalid>) -> Vec<String> {
    result.err().map(|e| e.fields.into_iter().map(|f| f.field).collect()).unwrap_or_default()
}

#[test]
fn a_sound_run_passes_and_one_without_steps_too() {
    assert_eq!(trajectory(&run(3)), Ok(()));
    assert_eq!(trajectory(&run(0)), Ok(()));
}

#[test]
fn every_offending_field_is_named_at_once() {
    let mut t = run(4);
    t.task_description = "  ".to_owned();
    t.steps[3].action_name.clear();
    t.steps[1].step_index = 7;
    t.steps[2].observation = "x".repeat(limits::OBSERVATION_BYTES + 1);
    t.steps[2].ended_at = Some(seconds(-9));
    t.steps[0].decision = Some(Decision::default());
    t.environment.tags = vec![String::new()];
    t.environment.attributes.insert("region".to_owned(), "x".repeat(limits::TEXT_BYTES + 1));
    t.ended_at = seconds(-1);
    let found = fields(trajectory(&t));
    for field in [
        "task_description",
        "steps[3].action_name",
        "steps[1].step_index",
        "steps[2].observation",
        "steps[2].ended_at",
        "steps[0].decision.chosen",
        "environment.tags[0]",
        "environment.attributes.region",
        "ended_at",
    ] {
        assert!(found.contains(&field.to_owned()), "{field} missing in {found:?}");
    }
    assert_eq!(found.len(), 9);
}

#[test]
fn limits_are_exact_and_in_bytes() {
    let mut t = run(1);
    t.steps[0].observation = "错".repeat(limits::OBSERVATION_BYTES / 3);
    assert_eq!(trajectory(&t), Ok(()));
    t.steps[0].observation.push('错');
    assert_eq!(fields(trajectory(&t)), ["steps[0].observation"]);
}

#[test]
fn hostile_counts_give_a_bounded_answer() {
    let mut t = run(0);
    t.steps = (0..limits::STEPS as u32 + 1).map(|_| step(9)).collect();
    let found = fields(trajectory(&t));
    assert_eq!(found[0], "steps");
    assert_eq!(found.len(), PROBLEMS);
}

fn recorded(body: EventBody) -> Event {
    let t = run(0);
    let event_id = EventId::derived(&t.scope.tenant, &t.trace_id, "x");
    Event { event_id, scope: t.scope, trace_id: t.trace_id, recorded_at: seconds(0), body }
}

#[test]
fn events_are_held_to_the_same_limits() {
    assert_eq!(event(&recorded(EventBody::Step(step(4999)))), Ok(()));
    assert_eq!(fields(event(&recorded(EventBody::Step(step(5000))))), ["step.step_index"]);
    let done = hindsight_types::TaskCompleted { outcome: Outcome::default(), step_count: 5001 };
    assert_eq!(fields(event(&recorded(EventBody::Completed(done)))), ["completed.step_count"]);
}

fn some_fact() -> Fact {
    let tenant = run(0).scope.tenant;
    let user = UserId::new("u").unwrap();
    let content = "发票号是 INV-78901";
    Fact { entities: vec!["INV-78901".to_owned()], ..Fact::new(&tenant, user, "k", content, seconds(0)) }
}

#[test]
fn a_fact_needs_a_user_a_content_and_a_sane_confidence() {
    assert_eq!(fact(&some_fact()), Ok(()));
    let mut f = some_fact();
    f.scope.visibility = Visibility::Tenant;
    f.content.clear();
    f.confidence = f32::NAN;
    f.expires_at = Some(seconds(-1));
    assert_eq!(fields(fact(&f)), ["user", "content", "confidence", "expires_at"]);
}

proptest! {
    #[test]
    fn step_indices_pass_only_as_zero_to_n(indices in prop::collection::vec(0u32..6, 0..6)) {
        let mut t = run(0);
        t.steps = indices.iter().map(|i| step(*i)).collect();
        let contiguous = indices.iter().enumerate().all(|(at, i)| at == *i as usize);
        prop_assert_eq!(trajectory(&t).is_ok(), contiguous);
    }
}
