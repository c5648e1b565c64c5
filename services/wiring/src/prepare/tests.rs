use std::sync::atomic::{AtomicBool, Ordering};

use hindsight_ports::testkit::faulty_store::{Calls, Fault, FaultyStore, StoreCall, When};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};

use super::*;

const LIMIT: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Fake {
    ran: Arc<AtomicBool>,
}

#[async_trait]
impl Role for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn service_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn register(&self, _: &mut RoutesBuilder) {}

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        self.ran.store(true, Ordering::SeqCst);
        stop.cancelled().await;
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

fn embedder(model: &str) -> EmbedderId {
    EmbedderId { model: model.to_owned(), dimension: 4 }
}

fn vectors(dir: &std::path::Path) -> Arc<Store> {
    let backend = Arc::new(EdgeBackend::open(dir, EdgeOptions::default()).unwrap());
    Arc::new(Store::new(backend, StoreOptions::default()))
}

fn role(need: Need, preparation: &Preparation, vectors: Arc<dyn Reembed>) -> Awaiting<Fake> {
    Awaiting { role: Fake::default(), need, preparation: preparation.clone(), vectors: Some(vectors) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_at_start_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = vectors(dir.path());
    let store = Arc::new(FaultyStore::new(vectors.clone(), 1));
    let away = Fault::Refuse(StoreError::Unavailable("connection refused".to_owned()));
    store.inject(Calls::Only(StoreCall::Prepare), When::Always, away);
    let preparation = prepare(store.clone(), embedder("a"));
    let of = |need| role(need, &preparation, vectors.clone());
    let (first, later) = (of(Need::First), of(Need::Later));
    let mut state = preparation.state.clone();
    let said = |s: &State| matches!(s, State::Waiting(why) if why.contains("connection refused"));
    tokio::time::timeout(LIMIT, state.wait_for(said)).await.unwrap().unwrap();
    assert!(first.ready().await.unwrap_err().contains("connection refused"));
    assert_eq!(later.ready().await, Ok(()), "the queue takes what it cannot store");
    assert!(later.degraded().await.is_some());

    let stop = CancellationToken::new();
    stop.cancel();
    first.run(stop).await.unwrap();
    assert!(!first.role.ran.load(Ordering::SeqCst), "stopped before it could begin");

    store.heal();
    tokio::time::timeout(LIMIT, preparation.awaited()).await.unwrap();
    assert_eq!((first.ready().await, later.degraded().await), (Ok(()), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_used_is_never_ready_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Arc::new(Store::new(backend, StoreOptions { prefix: "../".to_owned() }));
    let preparation = prepare(store.clone(), embedder("a"));
    let mut state = preparation.state.clone();
    tokio::time::timeout(LIMIT, state.wait_for(|s| matches!(s, State::Never(_)))).await.unwrap().unwrap();
    for need in [Need::First, Need::Later] {
        let reason = role(need, &preparation, store.clone()).ready().await.unwrap_err();
        assert!(reason.contains("prefix"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_embedder_is_ready_and_says_what_searches_miss() {
    let dir = tempfile::tempdir().unwrap();
    let store = vectors(dir.path());
    store.prepare(&embedder("a")).await.unwrap();
    let preparation = prepare(store.clone(), embedder("b"));
    tokio::time::timeout(LIMIT, preparation.awaited()).await.unwrap();
    let role = role(Need::First, &preparation, store);
    assert_eq!(role.ready().await, Ok(()));
    let said = role.degraded().await.unwrap();
    assert!(said.contains("configured with b"), "{said}");
}
