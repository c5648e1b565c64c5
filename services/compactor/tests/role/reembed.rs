//! The change of embedder, as the compactor that leads brings it about and as an operator follows it.

use std::sync::atomic::Ordering;

use hindsight_ports::{Embedder as _, Encoded, Encoding, MemoryStore as _, Purpose, testkit::samples};
use hindsight_proto::operations::v1::{GetEmbedderRequest, GetEmbedderResponse};
use hindsight_runtime::Role as _;
use hindsight_types::Memory;
use tonic::Code;

use crate::support::{Client, House, Lengths, run, until, with_key};

const ADMIN: &str = "acme-admin";

async fn fill(house: &House, embedder: &Lengths, facts: usize) {
    let tenant = samples::tenant("acme");
    for n in 0..facts {
        let memory = Memory::Fact(samples::fact(&tenant, "anna", &format!("key {n}"), 1));
        let dense = embedder.embed(&[memory.indexed_text()], Purpose::Passage).await.unwrap().remove(0);
        let encoding = Encoding { dense, sparse: samples::sparse(&[1]) };
        house.store.upsert(&[Encoded { value: memory, encoding }]).await.unwrap();
    }
}

async fn state(client: &mut Client) -> GetEmbedderResponse {
    client.get_embedder(with_key(ADMIN, GetEmbedderRequest {})).await.unwrap().into_inner()
}

fn model(embedder: &Option<hindsight_proto::operations::v1::Embedder>) -> &str {
    embedder.as_ref().map_or("", |e| &e.model)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_changes_the_embedder_and_says_how_far_it_is() {
    let mut house = House::new().await;
    fill(&house, &house.embedder.clone(), 30).await;
    let next = Lengths::new("longer", 6);
    house.restart(next.clone()).await;
    next.away.store(true, Ordering::SeqCst);

    let compactor = house.compactor();
    let running = run(compactor.clone());
    let trouble = until("it says what is in the way", || compactor.degraded()).await;
    assert!(trouble.contains("away on purpose"), "{trouble}");
    let mut client = house.client();
    let held_up = state(&mut client).await;
    let build = held_up.reembedding.clone().unwrap();
    assert_eq!((model(&held_up.serving), model(&held_up.configured)), ("lengths", "longer"));
    assert_eq!((model(&build.embedder), build.total, build.done, build.percent), ("longer", 30, 0, 0));

    next.away.store(false, Ordering::SeqCst);
    let changed = until("it serves", || {
        let mut client = client.clone();
        async move { Some(state(&mut client).await).filter(|state| state.reembedding.is_none()) }
    });
    assert_eq!(model(&changed.await.serving), "longer");
    until("all is well", || async { compactor.degraded().await.is_none().then_some(()) }).await;
    running.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_compactors_one_changes_the_embedder_and_the_other_goes_on_when_it_dies() {
    let mut house = House::new().await;
    fill(&house, &house.embedder.clone(), 30).await;
    let next = Lengths::new("longer", 6);
    house.restart(next.clone()).await;
    next.away.store(true, Ordering::SeqCst);
    let first = house.compactor();
    let leads = run(first.clone());
    until("the first one is held up", || first.degraded()).await;
    // The second has a store of its own, as another process has.
    house.restart(next.clone()).await;
    let stands_by = run(house.compactor());
    next.away.store(false, Ordering::SeqCst);
    leads.kill().await;
    let client = house.client();
    until("the second one finishes", || {
        let mut client = client.clone();
        async move { (model(&state(&mut client).await.serving) == "longer").then_some(()) }
    })
    .await;
    stands_by.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_operator_may_know() {
    let house = House::new().await;
    let refused = house.client().get_embedder(with_key("acme-reader", GetEmbedderRequest {})).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    house.close().await;
}
