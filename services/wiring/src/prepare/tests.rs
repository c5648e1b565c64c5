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

fn open(dir: &std::path::Path) -> Arc<FaultyStore> {
    let backend = Arc::new(EdgeBackend::open(dir, EdgeOptions::default()).unwrap());
    Arc::new(FaultyStore::new(Arc::new(Store::new(backend, StoreOptions::default())), 1))
}

fn role(need: Need, preparation: &Preparation) -> Awaiting<Fake> {
    Awaiting { role: Fake::default(), need, preparation: preparation.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_at_start_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let away = Fault::Refuse(StoreError::Unavailable("connection refused".to_owned()));
    store.inject(Calls::Only(StoreCall::Prepare), When::Always, away);
    let preparation = prepare(store.clone(), embedder("a"));
    let (first, later) = (role(Need::First, &preparation), role(Need::Later, &preparation));
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
async fn another_embedder_is_never_ready_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.prepare(&embedder("a")).await.unwrap();
    drop(store);
    let preparation = prepare(open(dir.path()), embedder("b"));
    let mut state = preparation.state.clone();
    tokio::time::timeout(LIMIT, state.wait_for(|s| matches!(s, State::Never(_)))).await.unwrap().unwrap();
    for need in [Need::First, Need::Later] {
        let reason = role(need, &preparation).ready().await.unwrap_err();
        assert!(reason.contains("[embedder]"), "{reason}");
    }
}
