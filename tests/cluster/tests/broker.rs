//! RabbitMQ goes and comes back, and brings messages that are wrong or were there before.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use hindsight_bus_amqp::{AmqpBus, AmqpOptions};
use hindsight_client::Client;
use hindsight_cluster::{Cluster, Fault, Ledger, Load, Role, Shape};
use hindsight_codec::scope_to_proto;
use hindsight_e2e::until;
use hindsight_ports::{Bus as _, Clock as _, Envelope, Queue, SystemClock};
use hindsight_proto::{
    event::v1::EvaluationRequested,
    operations::v1::{DeadLetter, DiscardDeadLettersRequest, ListDeadLettersRequest},
};
use hindsight_types::{Scope, TenantId, Visibility};
use prost::Message as _;
use uuid::Uuid;

const SOME: usize = 12;

async fn single() -> Option<Cluster> {
    Cluster::start(&Shape::of_each(1)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_dies_or_restarts_loses_and_doubles_nothing() {
    let Some(mut cluster) = single().await else { return };
    let mut ledger = Ledger::default();
    for (name, kill) in [("broker killed (SIGKILL)", true), ("broker restarted (SIGTERM)", false)] {
        let load = Load::begin(if kill { "killed" } else { "restarted" }, cluster.clients(Role::Collector));
        load.more(SOME).await;
        let waiting = ledger.waiting(&mut cluster, &load).await;
        let before = load.acknowledged();
        if kill {
            cluster.kill_broker()
        } else {
            cluster.stop_broker()
        }
        cluster.run_broker();
        let fault = Fault { name, waiting, during: load.acknowledged() - before, over: Instant::now() };
        ledger.settle(&mut cluster, load, fault).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_set_aside_and_duplicates_do_nothing() {
    let Some(mut cluster) = single().await else { return };
    let mut ledger = Ledger::default();
    let bus = AmqpBus::start(AmqpOptions::new(cluster.broker.url())).unwrap();
    bus.connected(Duration::from_secs(60)).await.unwrap();
    let operations = cluster.client(Role::Compactor);

    let load = Load::begin("poisoned", cluster.clients(Role::Collector));
    load.more(SOME).await;
    let poison = [
        (Queue::Ingest, "hindsight.event.v1.EventRecorded", b"\xff\xff\xff not protobuf".to_vec()),
        (Queue::Ingest, "hindsight.event.v1.Unheard", vec![]),
        (Queue::Evaluate, "hindsight.event.v1.EvaluationRequested", b"\xff\xff\xff".to_vec()),
    ];
    for (queue, schema, payload) in poison.clone() {
        bus.publish(queue, vec![envelope(schema, payload)]).await.unwrap();
    }
    let letters = dead_letters(&operations, poison.len()).await;
    assert!(letters.iter().all(|l| !l.reason.is_empty()), "{letters:?}");
    let ids = letters.into_iter().map(|l| l.id).collect();
    operations.discard_dead_letters(DiscardDeadLettersRequest { ids, ..Default::default() }).await.unwrap();
    dead_letters(&operations, 0).await;
    let during = load.acknowledged() - SOME;
    let fault = Fault { name: "poison: 3 unreadable messages", waiting: 0, during, over: Instant::now() };
    ledger.settle(&mut cluster, load, fault).await;

    // Everything comes again: requests to judge what is judged, and runs that are known.
    let load = Load::begin("doubled", cluster.clients(Role::Collector));
    load.more(SOME).await;
    let again: Vec<Envelope> = (0..SOME).flat_map(|i| vec![requested(&format!("doubled-{i}")); 3]).collect();
    bus.publish(Queue::Evaluate, again).await.unwrap();
    let twin = Load::begin("doubled", cluster.clients(Role::Collector));
    twin.more(SOME).await;
    let again = twin.end().await;
    let waiting = ledger.waiting(&mut cluster, &load).await;
    let fault = Fault {
        name: "duplicates: runs sent twice, asked for four times",
        waiting,
        during: again.len(),
        over: Instant::now(),
    };
    ledger.add(again);
    ledger.settle(&mut cluster, load, fault).await;
    dead_letters(&operations, 0).await;
}

fn envelope(schema: &str, payload: Vec<u8>) -> Envelope {
    Envelope {
        id: Uuid::new_v4(),
        schema: schema.to_owned(),
        tenant: TenantId::new("default").unwrap(),
        occurred_at: SystemClock.now(),
        trace_context: BTreeMap::new(),
        payload,
    }
}

fn requested(trace: &str) -> Envelope {
    let scope = Scope::new(TenantId::new("default").unwrap(), Visibility::Tenant);
    let scope = Some(scope_to_proto(&scope));
    let request = EvaluationRequested { trace_id: trace.to_owned(), scope, step_count: 8, not_before: None };
    envelope("hindsight.event.v1.EvaluationRequested", request.encode_to_vec())
}

/// The dead letters, once there are so many.
async fn dead_letters(operations: &Client, n: usize) -> Vec<DeadLetter> {
    until(&format!("{n} dead letters"), async || {
        let listed = operations.list_dead_letters(ListDeadLettersRequest::default()).await;
        let letters = listed.map_err(|e| e.to_string())?.letters;
        if letters.len() == n { Ok(letters) } else { Err(format!("{letters:?}")) }
    })
    .await
}
