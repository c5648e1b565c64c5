use hindsight_ports::testkit::samples::{private, shared, tenant, user};
use hindsight_types::{AgentId, TaskType};
use qdrant_client::qdrant::{Match, condition::ConditionOneOf, r#match::MatchValue};

use super::*;

/// What a filter demands of a field: the keywords of which one must match.
fn demanded(filter: &ScopedFilter, field: &str) -> Vec<Vec<String>> {
    let matches = filter.0.must.iter().filter_map(|c| match &c.condition_one_of {
        Some(ConditionOneOf::Field(f)) if f.key == field => f.r#match.clone(),
        _ => None,
    });
    matches
        .map(|Match { match_value }| match match_value {
            Some(MatchValue::Keyword(k)) => vec![k],
            Some(MatchValue::Keywords(k)) => k.strings,
            other => panic!("{field} is compared with {other:?}"),
        })
        .collect()
}

fn viewer() -> Viewer {
    Viewer::of_tenant(tenant("acme"))
        .with_user(Some(user("安娜")))
        .with_agent(Some(AgentId::new("bot").unwrap()))
        .with_task_type(Some(TaskType::new("incident").unwrap()))
}

#[test]
fn a_viewer_reads_its_tenant_and_its_visibilities() {
    for collection in Collection::ALL.into_iter().filter(|c| *c != Collection::Facts) {
        let filter = ScopedFilter::readable(&viewer(), collection).unwrap();
        assert_eq!(demanded(&filter, field::TENANT), [["acme"]]);
        let visible = ["tenant", "user:安娜", "task:incident", "agent:bot"];
        assert_eq!(demanded(&filter, field::VISIBILITY), [visible]);
        assert!(filter.0.should.is_empty() && filter.0.min_should.is_none());
    }
}

#[test]
fn facts_are_for_their_user_alone() {
    let filter = ScopedFilter::readable(&viewer(), Collection::Facts).unwrap();
    assert_eq!(demanded(&filter, field::TENANT), [["acme"]]);
    assert_eq!(demanded(&filter, field::VISIBILITY), [["user:安娜"]]);
    assert_eq!(ScopedFilter::readable(&viewer().with_user(None), Collection::Facts), None);
}

#[test]
fn a_scope_is_that_scope() {
    let acme = tenant("acme");
    for (scope, visibility) in [(shared(&acme), "tenant"), (private(&acme, "ben"), "user:ben")] {
        let filter = ScopedFilter::exactly(&scope);
        assert_eq!(demanded(&filter, field::TENANT), [["acme"]]);
        assert_eq!(demanded(&filter, field::VISIBILITY), [[visibility]]);
    }
}

#[test]
fn narrowing_keeps_the_scope() {
    let filter = ScopedFilter::readable(&viewer(), Collection::Steps).unwrap();
    let narrowed = filter
        .clone()
        .and(Condition::matches(field::TENANT, "other".to_owned()))
        .and_not(Condition::matches(field::STATUS, "x".to_owned()))
        .and_ids([Uuid::nil()])
        .and_before(field::AT, 5);
    // Every condition must hold, so asking for another tenant too finds nothing.
    assert_eq!(demanded(&narrowed, field::TENANT), [["acme"], ["other"]]);
    assert_eq!(narrowed.0.must.len(), filter.0.must.len() + 3);
    assert!(narrowed.0.should.is_empty() && narrowed.0.min_should.is_none());
}
