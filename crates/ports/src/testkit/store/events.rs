use std::sync::Arc;

use hindsight_types::{EventBody, Viewer, limits};

use crate::{
    MemoryStore,
    testkit::samples::{completed, private, shared, started, step_event, tenant, trace},
};

pub async fn events_come_in_order(store: Arc<dyn MemoryStore>) {
    let (scope, trace) = (shared(&tenant("events-order")), trace("t"));
    let mut events: Vec<_> = (0..12).map(|i| step_event(&scope, &trace, i)).collect();
    events.insert(0, started(&scope, &trace));
    events.push(completed(&scope, &trace, 12));
    let mut sent = events.clone();
    sent.reverse();
    sent.swap(3, 9);
    for part in sent.chunks(5) {
        store.append_events(part).await.unwrap();
    }
    assert_eq!(store.events(&scope, &trace).await.unwrap(), events);
}

pub async fn events_are_stored_once(store: Arc<dyn MemoryStore>) {
    let scope = shared(&tenant("events-once"));
    let (trace, other) = (trace("t"), trace("other"));
    let first = step_event(&scope, &trace, 0);
    let mut again = first.clone();
    if let EventBody::Step(step) = &mut again.body {
        step.observation = "sent again, and changed".to_owned();
    }
    store.append_events(&[first.clone(), first.clone()]).await.unwrap();
    store.append_events(&[again, step_event(&scope, &trace, 1)]).await.unwrap();
    store.append_events(&[step_event(&scope, &other, 0)]).await.unwrap();
    store.append_events(&[]).await.unwrap();
    let found = store.events(&scope, &trace).await.unwrap();
    assert_eq!(found, [first, step_event(&scope, &trace, 1)], "the first of a repeated event stays");
    let viewer = Viewer::of_tenant(scope.tenant.clone());
    assert_eq!(store.stats(&viewer).await.unwrap().events, 3);
}

pub async fn events_stay_in_their_scope(store: Arc<dyn MemoryStore>) {
    let (mine, yours) = (tenant("events-mine"), tenant("events-yours"));
    let trace = trace("same name");
    let of = |scope| step_event(&scope, &trace, 0);
    let everyone = of(shared(&mine));
    // The same event id in another tenant is another event.
    let mut foreign = everyone.clone();
    foreign.scope = shared(&yours);
    let mut anna = of(private(&mine, "anna"));
    anna.event_id = hindsight_types::EventId::derived(&mine, &trace, "anna's");
    store.append_events(&[everyone.clone(), foreign.clone(), anna.clone()]).await.unwrap();
    let mut told = crate::testkit::samples::tool_span(&shared(&mine), &self::trace("told"), 3);
    store.append_events(std::slice::from_ref(&told)).await.unwrap();
    assert_eq!(store.events(&told.scope, &told.trace_id).await.unwrap(), [told.clone()]);
    told.recorded_at = crate::testkit::samples::time(99);
    store.append_events(std::slice::from_ref(&told)).await.unwrap();
    assert_eq!(store.trace_events(&mine, &told.trace_id).await.unwrap().len(), 1);
    let mut of_mine = store.trace_events(&mine, &trace).await.unwrap();
    of_mine.sort_by_key(|e| e.scope.user().is_some());
    assert_eq!(of_mine, [everyone.clone(), anna.clone()], "of every user, of no other tenant");
    assert_eq!(store.trace_events(&mine, &self::trace("other")).await.unwrap(), []);
    for event in [everyone, foreign, anna] {
        assert_eq!(store.events(&event.scope, &trace).await.unwrap(), [event]);
    }
    assert_eq!(store.events(&private(&mine, "ben"), &trace).await.unwrap(), []);
    assert_eq!(store.events(&private(&yours, "anna"), &trace).await.unwrap(), []);
}

/// More than any page an engine returns at once.
pub async fn many_events(store: Arc<dyn MemoryStore>) {
    let (scope, trace) = (shared(&tenant("events-many")), trace("t"));
    let events: Vec<_> = (0..1_000).map(|i| step_event(&scope, &trace, i)).collect();
    store.append_events(&events).await.unwrap();
    assert_eq!(store.events(&scope, &trace).await.unwrap(), events);
}

/// As large as they may be, in one go.
pub async fn large_events(store: Arc<dyn MemoryStore>) {
    let (scope, trace) = (shared(&tenant("events-large")), trace("t"));
    let large = |index| {
        let mut event = step_event(&scope, &trace, index);
        if let EventBody::Step(step) = &mut event.body {
            step.observation = "é".repeat(limits::OBSERVATION_BYTES / 2);
            step.action_detail = "x".repeat(limits::DETAIL_BYTES);
        }
        event
    };
    let events: Vec<_> = (0..12).map(large).collect();
    store.append_events(&events).await.unwrap();
    assert!(store.events(&scope, &trace).await.unwrap() == events, "they differ from what was written");
}
