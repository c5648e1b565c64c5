//! What a forgetting does on the queues: dead letters go, what arrives late is told from what is new, what is asked for
//! is asked for once.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_codec::{compaction_task_from_proto, event_to_proto, fact_to_proto, schema};
use hindsight_forgetting::{Arriving, Files, Forgetter, Proved, of_event, of_fact};
use hindsight_ports::{
    Bus, Envelope, Forget, Probes, Queue, StoreError, SystemClock,
    testkit::samples::{fact, private, shared, started, step_event, tenant, time, trace, user},
};
use hindsight_proto::event::v1::{CompactionRequested, FactRetained};
use hindsight_types::{
    Correction, Event, EventBody, Fact, Forgetting, ForgettingId, ForgettingPreview, ForgettingState,
    Forgotten, MemoryId, MemoryKind, Rederivation, Scope, Subject, TenantId, Timestamp, Visibility, Work,
};
use prost::Message as _;
use uuid::Uuid;

/// Keeps what is on record, and has something left for so many rounds.
#[derive(Default)]
struct Records {
    tombstones: Mutex<HashMap<Uuid, Forgotten>>,
    forgettings: Mutex<HashMap<ForgettingId, Forgetting>>,
    left: Mutex<u64>,
}

#[async_trait]
impl Forget for Records {
    async fn forgotten(&self, _: &TenantId, subjects: &[Subject]) -> Result<Vec<Forgotten>, StoreError> {
        let known = self.tombstones.lock().unwrap();
        Ok(subjects.iter().filter_map(|s| known.get(&s.key()).cloned()).collect())
    }

    async fn entomb(&self, forgotten: &Forgotten) -> Result<(), StoreError> {
        self.tombstones.lock().unwrap().insert(forgotten.subject.key(), forgotten.clone());
        Ok(())
    }

    async fn begin(&self, f: &Forgetting) -> Result<Forgetting, StoreError> {
        self.entomb(&f.tombstone()).await?;
        Ok(self.forgettings.lock().unwrap().entry(f.id).or_insert_with(|| f.clone()).clone())
    }

    async fn forgetting(&self, _: &TenantId, id: ForgettingId) -> Result<Option<Forgetting>, StoreError> {
        Ok(self.forgettings.lock().unwrap().get(&id).cloned())
    }

    async fn erase(&self, _: &Forgetting) -> Result<(), StoreError> {
        Ok(())
    }

    async fn advance(&self, f: &Forgetting, now: Timestamp) -> Result<Forgetting, StoreError> {
        let state = ForgettingState::Vacuuming;
        self.put(&Forgetting { state, erased_at: Some(now), ..f.clone() }).await
    }

    async fn put(&self, f: &Forgetting) -> Result<Forgetting, StoreError> {
        let next = Forgetting { revision: f.revision + 1, ..f.clone() };
        self.forgettings.lock().unwrap().insert(f.id, next.clone());
        Ok(next)
    }

    async fn preview(
        &self,
        _: &TenantId,
        _: &Subject,
        _: Timestamp,
    ) -> Result<ForgettingPreview, StoreError> {
        Ok(ForgettingPreview::default())
    }

    async fn remaining(&self, _: &Forgetting) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut left = self.left.lock().unwrap();
        let now = *left;
        *left = left.saturating_sub(1);
        Ok([("facts".to_owned(), now)].into())
    }

    async fn held(&self, _: &Probes) -> Result<BTreeSet<u64>, StoreError> {
        Ok(BTreeSet::new())
    }
}

struct House {
    forgetter: Forgetter,
    records: Arc<Records>,
    _dir: tempfile::TempDir,
}

fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let bus = LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap();
    let records = Arc::new(Records::default());
    let forgetter = Forgetter {
        forget: records.clone(),
        bus: Arc::new(bus.clone()),
        clock: Arc::new(SystemClock),
        store_files: Files::OutOfReach("a server's"),
        queue_files: Files::Here(Arc::new(bus)),
    };
    House { forgetter, records, _dir: dir }
}

fn acme() -> TenantId {
    tenant("acme")
}

fn forgetting(at: i64) -> Forgetting {
    let id = ForgettingId::of_request(&acme(), "r-1");
    let scope = Scope::new(acme(), Visibility::Tenant);
    let (reason, by) = ("asked".to_owned(), "ops".to_owned());
    Forgetting::begin(id, scope, Subject::User(user("ann")), reason, by, time(at))
}

fn message(id: u128, schema: &str, payload: Vec<u8>) -> Envelope {
    Envelope {
        id: Uuid::from_u128(id),
        schema: schema.to_owned(),
        tenant: acme(),
        occurred_at: time(0),
        trace_context: BTreeMap::new(),
        payload,
    }
}

fn said(name: &str, at: i64) -> Fact {
    Fact { retained_at: time(at), ..fact(&acme(), name, "k", at) }
}

/// The start of a run that all may see.
fn start(name: &str, at: i64) -> Event {
    let mut event = started(&shared(&acme()), &trace(&format!("{name}-run")));
    event.recorded_at = time(at);
    if let EventBody::Started(start) = &mut event.body {
        start.user = Some(user(name));
    }
    event
}

async fn asked(bus: &dyn Bus) -> Vec<Work> {
    let mut works = Vec::new();
    // Counted before anyone takes them.
    let ready = bus.stats(Queue::Compact).await.unwrap().ready;
    let mut consumer = bus.subscribe(Queue::Compact, 10).await.unwrap();
    for _ in 0..ready {
        let delivery = consumer.next().await.unwrap();
        let request = CompactionRequested::decode(delivery.envelope.payload.as_slice()).unwrap();
        works.push(compaction_task_from_proto(&acme(), request.task.unwrap()).unwrap().work);
        delivery.settle.ack().await.unwrap();
    }
    works
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_of_the_subject_are_discarded_and_no_others() {
    let house = house();
    let bus = &house.forgetter.bus;
    let fact = |name, at| FactRetained { fact: Some(fact_to_proto(&said(name, at))) }.encode_to_vec();
    let event = |event: &Event| event_to_proto(event).encode_to_vec();
    let letters = [
        (message(1, schema::FACT_RETAINED, fact("ann", 5)), true),
        (message(2, schema::FACT_RETAINED, fact("bob", 5)), false),
        (message(3, schema::EVENT_RECORDED, event(&start("ann", 5))), true),
        (message(4, schema::EVENT_RECORDED, event(&start("bob", 5))), false),
        // Of a time when she had come back.
        (message(5, schema::FACT_RETAINED, fact("ann", 50)), false),
        (message(6, schema::EVENT_RECORDED, b"garbled".to_vec()), false),
    ];
    bus.publish(Queue::Ingest, letters.iter().map(|(m, _)| m.clone()).collect()).await.unwrap();
    let mut consumer = bus.subscribe(Queue::Ingest, 10).await.unwrap();
    for _ in &letters {
        consumer.next().await.unwrap().settle.dead_letter("refused").await.unwrap();
    }
    let begun = house.forgetter.begin(&forgetting(10)).await.unwrap();
    let erased = house.forgetter.erase_for(begun, std::time::Duration::from_secs(60)).await.unwrap();
    let vacuumed = house.forgetter.vacuum(erased).await.unwrap();
    assert_eq!((vacuumed.letters, &vacuumed.state), (2, &ForgettingState::Proving));
    let left = bus.dead_letters(Queue::Ingest, 10).await.unwrap();
    let left: BTreeSet<Uuid> = left.into_iter().map(|letter| letter.envelope.id).collect();
    let kept = letters.iter().filter(|(_, goes)| !goes).map(|(m, _)| m.id).collect();
    assert_eq!(left, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_deleted_again_until_it_is_proved_or_given_up() {
    for (rounds, done) in [(0, true), (2, true), (99, false)] {
        let house = house();
        *house.records.left.lock().unwrap() = rounds;
        let mut f = house.forgetter.begin(&forgetting(10)).await.unwrap();
        let over = loop {
            f = house.forgetter.erase_for(f, std::time::Duration::from_secs(60)).await.unwrap();
            while f.state == ForgettingState::Vacuuming {
                f = house.forgetter.vacuum(f).await.unwrap();
            }
            match house.forgetter.prove(f).await.unwrap() {
                Proved::Over(over) => break over,
                Proved::Again(again, wait) => {
                    assert_eq!(again.state, ForgettingState::Erasing);
                    assert!(!wait.is_zero());
                    f = again;
                }
            }
        };
        assert_eq!(matches!(over.state, ForgettingState::Done), done, "{over:?}");
        assert!(over.probes.is_empty() && over.ended_at.is_some());
        let proof = over.proof.unwrap();
        assert_eq!(proof.is_clean(), done);
        assert!(proof.out_of_reach.iter().any(|what| what == "a server's"), "{proof:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_late_is_told_from_what_is_new() {
    let house = house();
    house.forgetter.begin(&forgetting(10)).await.unwrap();
    let mut step = step_event(&private(&acme(), "ann"), &trace("t"), 0);
    let at = |event: &mut Event, seconds| {
        event.recorded_at = time(seconds);
        of_event(event)
    };
    let arriving = [
        at(&mut step, 9),
        at(&mut step, 10),
        at(&mut step, 11),
        of_event(&start("ann", 10)),
        of_event(&start("bob", 10)),
        of_fact(&said("ann", 10)),
        of_fact(&said("ann", 11)),
        Arriving {
            subjects: vec![Subject::Memory(MemoryKind::Fact, MemoryId(Uuid::nil()))],
            recorded_at: time(1),
        },
    ];
    let forgotten = house.forgetter.forgotten(&acme(), &arriving).await.unwrap();
    let told: Vec<bool> = forgotten.iter().map(Option::is_some).collect();
    assert_eq!(told, [true, true, false, true, false, true, false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_taught_is_asked_for_and_a_sweep_is_another_for_each_cause() {
    let house = house();
    let bus = &*house.forgetter.bus;
    let mut f = house.forgetter.begin(&forgetting(10)).await.unwrap();
    assert_eq!(asked(bus).await, [Work::Forget { forgetting: f.id }]);
    let memory = |n| Rederivation {
        kind: MemoryKind::Lesson,
        memory: MemoryId(Uuid::from_u128(n)),
        visibility: Visibility::Tenant,
        runs: vec![trace("bob-run")],
        correction: None,
    };
    let said = Correction { advice: "in the words of a person".to_owned(), ..Correction::default() };
    f.batch.rederived = vec![memory(1), Rederivation { correction: Some(said.clone()), ..memory(2) }];
    house.forgetter.relearn(&f).await.unwrap();
    let works = asked(bus).await;
    let [Work::Rederive { memories, runs, corrections, .. }] = &works[..] else { panic!("{works:?}") };
    assert_eq!(corrections, &[(MemoryId(Uuid::from_u128(2)), said)]);
    assert_eq!((memories.len(), &runs[..]), (2, &[trace("bob-run")][..]), "of the same runs, together");

    for (cause, begun) in [("a", 1), ("a", 1), ("b", 2)] {
        house.forgetter.sweep(&forgetting(10).tombstone(), cause).await.unwrap();
        assert_eq!(house.records.forgettings.lock().unwrap().len(), 1 + begun, "after {cause}");
    }
}
