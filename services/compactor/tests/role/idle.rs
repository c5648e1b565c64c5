//! Tasks that were left open.

use hindsight_codec::{event_from_proto, schema};
use hindsight_ports::{
    Delivery, MemoryStore as _, PageRequest, Queue, StoreError,
    testkit::{
        faulty_store::{Calls, Fault, StoreCall, When},
        samples,
    },
};
use hindsight_proto::event::v1::{EvaluationRequested, EventRecorded};
use hindsight_runtime::Role as _;
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, OpenTask, OutcomeStatus, Scope, TenantId, Timestamp,
    TraceId,
};
use prost::Message as _;

use crate::support::{House, run, until};

/// A run, with its first events, that is open and was touched at `second`.
async fn open(house: &House, run: &Run, events: usize, second: i64) {
    house.store.append_events(&run.events()[..events]).await.unwrap();
    let touched_at = Timestamp::from_second(second).unwrap();
    let task = OpenTask { trace_id: run.trace.clone(), scope: run.scope.clone(), touched_at };
    house.store.mark_open(&[task]).await.unwrap();
}

struct Run {
    trace: TraceId,
    scope: Scope,
}

impl Run {
    fn events(&self) -> Vec<Event> {
        let (scope, trace) = (&self.scope, &self.trace);
        let steps = (0..2).map(|i| samples::step_event(scope, trace, i));
        std::iter::once(samples::started(scope, trace))
            .chain(steps)
            .chain([samples::completed(scope, trace, 2)])
            .collect()
    }
}

fn of(tenant: &str, name: &str) -> Run {
    let scope = samples::private(&TenantId::new(tenant).unwrap(), "anna");
    Run { trace: samples::trace(name), scope }
}

async fn next(consumer: &mut dyn hindsight_ports::Consumer) -> (Delivery, Event) {
    let delivery = tokio::time::timeout(std::time::Duration::from_secs(60), consumer.next());
    let delivery = delivery.await.unwrap_or_else(|_| panic!("no end on the queue")).unwrap();
    assert_eq!(delivery.envelope.schema, schema::EVENT_RECORDED);
    let event = EventRecorded::decode(delivery.envelope.payload.as_slice()).unwrap();
    let event = event_from_proto(&delivery.envelope.tenant, event).unwrap();
    (delivery, event)
}

async fn done(delivery: Delivery) {
    delivery.settle.ack().await.unwrap();
}

async fn marks(house: &House) -> Vec<String> {
    let page = PageRequest { size: 10, ..PageRequest::default() };
    let found = house.store.idle_tasks(Timestamp::MAX, &page).await.unwrap().items;
    found.into_iter().map(|t| t.trace_id.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_idle_is_ended_in_its_own_tenant_and_scope() {
    let house = House::new().await;
    let (left, fresh, over) = (of("acme", "left"), of("rival", "fresh"), of("acme", "over"));
    open(&house, &left, 2, 0).await;
    open(&house, &fresh, 2, 50).await;
    open(&house, &over, over.events().len(), 0).await;
    house.clock.set(120);
    let compactor = run(house.compactor());
    let mut consumer = house.bus.subscribe(Queue::Ingest, 1).await.unwrap();
    let (delivery, end) = next(&mut *consumer).await;
    assert_eq!((&end.trace_id, &end.scope), (&left.trace, &left.scope));
    let EventBody::Completed(c) = &end.body else { panic!("{end:?}") };
    assert_eq!((c.outcome.status, c.step_count), (OutcomeStatus::Unknown, 1));
    until("what had ended is no longer open", || async {
        (!marks(&house).await.contains(&"over".to_owned())).then_some(())
    })
    .await;

    // Until its end is stored it stays open, and is ended again under the same id.
    let first = delivery.envelope.id;
    done(delivery).await;
    let (delivery, _) = next(&mut *consumer).await;
    assert_eq!(delivery.envelope.id, first);
    house.store.append_events(&[end]).await.unwrap();
    done(delivery).await;
    until("only what is fresh is open", || async { (marks(&house).await == ["fresh"]).then_some(()) }).await;
    compactor.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_when_the_leader_dies() {
    let house = House::new().await;
    let (first, second) = (run(house.compactor()), run(house.compactor()));
    let mut consumer = house.bus.subscribe(Queue::Ingest, 1).await.unwrap();
    open(&house, &of("acme", "one"), 2, 0).await;
    house.clock.set(120);
    let (delivery, end) = next(&mut *consumer).await;
    house.store.append_events(&[end]).await.unwrap();
    done(delivery).await;

    first.kill().await;
    open(&house, &of("acme", "two"), 2, 0).await;
    loop {
        let (delivery, end) = next(&mut *consumer).await;
        done(delivery).await;
        if end.trace_id.as_str() == "two" {
            break;
        }
    }
    second.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_shows_and_passes() {
    let house = House::new().await;
    open(&house, &of("acme", "left"), 2, 0).await;
    house.clock.set(120);
    let away = Fault::Refuse(StoreError::Unavailable("gone fishing".to_owned()));
    house.store.inject(Calls::Only(StoreCall::IdleTasks), When::Always, away);
    let compactor = house.compactor();
    let running = run(compactor.clone());
    until("the outage shows", || async {
        compactor.degraded().await.filter(|why| why.contains("gone fishing"))
    })
    .await;
    assert_eq!(compactor.ready().await, Ok(()));
    house.store.heal();
    let mut consumer = house.bus.subscribe(Queue::Ingest, 1).await.unwrap();
    next(&mut *consumer).await;
    until("the outage is over", || async { compactor.degraded().await.is_none().then_some(()) }).await;
    running.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_told_by_spans_is_ended_without_its_root_and_judged_when_it_has_grown() {
    let house = House::new().await;
    let (left, grown, same) = (of("acme", "left"), of("acme", "grown"), of("acme", "same"));
    for run in [&left, &grown, &same] {
        let mut events: Vec<_> = (2..5).map(|id| samples::tool_span(&run.scope, &run.trace, id)).collect();
        if run.trace != left.trace {
            // Its root does not say whose it is.
            events.push(samples::root_span(&samples::shared(&run.scope.tenant), &run.trace));
        }
        house.store.append_events(&events).await.unwrap();
        let touched_at = Timestamp::from_second(0).unwrap();
        let task = OpenTask { trace_id: run.trace.clone(), scope: run.scope.clone(), touched_at };
        house.store.mark_open(&[task]).await.unwrap();
    }
    for (run, step_count) in [(&grown, 3), (&same, 4)] {
        let record = EvaluationRecord {
            trace_id: run.trace.clone(),
            scope: run.scope.clone(),
            state: EvaluationState::Judged,
            attempts: 1,
            step_count,
            judge: "slice".to_owned(),
            updated_at: Timestamp::from_second(1).unwrap(),
        };
        house.store.put_evaluation_record(&record).await.unwrap();
    }
    house.clock.set(120);
    let compactor = run(house.compactor());
    let mut ends = house.bus.subscribe(Queue::Ingest, 1).await.unwrap();
    let (delivery, end) = next(&mut *ends).await;
    assert_eq!(end.trace_id, left.trace);
    assert!(matches!(&end.body, EventBody::Completed(c) if c.step_count == 3), "{end:?}");
    done(delivery).await;

    let mut asked = house.bus.subscribe(Queue::Evaluate, 4).await.unwrap();
    let delivery = asked.next().await.unwrap();
    let request = EvaluationRequested::decode(delivery.envelope.payload.as_slice()).unwrap();
    assert_eq!((request.trace_id.as_str(), request.step_count), ("grown", 4));
    let scope = hindsight_codec::scope_from_proto(&grown.scope.tenant, request.scope).unwrap();
    assert_eq!(scope, grown.scope, "the user's, as its spans say");
    done(delivery).await;
    until("what was looked at is no longer open", || async {
        (marks(&house).await == ["left"]).then_some(())
    })
    .await;
    assert_eq!(house.bus.stats(Queue::Evaluate).await.unwrap().ready, 0, "of the one that has not grown");
    compactor.stop().await;
    house.close().await;
}
