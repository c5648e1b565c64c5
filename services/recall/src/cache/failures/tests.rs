use hindsight_ports::{
    Encoded, Encoding, SystemClock,
    testkit::faulty_store::{Calls, Fault, FaultyStore, StoreCall, When},
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{Environment, TenantId, Timestamp, TraceId, UserId, Visibility};

use super::*;

const CALL: &str = r#"{"command": "npm install -g typescript"}"#;

struct World {
    store: Arc<FaultyStore>,
    failures: Arc<Failures>,
    _dir: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let backend = EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap();
        let store = Store::new(Arc::new(backend), StoreOptions::default());
        store.prepare(&hindsight_ports::EmbedderId { model: "test".to_owned(), dimension: 8 }).await.unwrap();
        let store = Arc::new(FaultyStore::new(Arc::new(store), 1));
        let settings = WatchSettings { pause: Duration::ZERO, ..WatchSettings::default() };
        let failures = Failures::new(&settings, store.clone(), Arc::new(SystemClock));
        failures.joined();
        Self { store, failures, _dir: dir }
    }

    /// As a writer of this process does.
    async fn write(&self, pattern: FailurePattern) {
        let value = Memory::FailurePattern(pattern);
        let _writing = self.failures.writing(&[MemoryChange::of(&value)]);
        self.store.upsert(&[Encoded { value, encoding: Encoding::default() }]).await.unwrap();
    }

    fn known(&self, viewer: &Viewer) -> usize {
        self.failures.of(viewer).like(&signs("bash", CALL), 0.5).len()
    }
}

fn viewer(user: Option<&str>) -> Viewer {
    Viewer::of_tenant(TenantId::new("acme").unwrap()).with_user(user.map(|u| UserId::new(u).unwrap()))
}

/// Days ago it was seen last.
fn pattern(user: Option<&str>, key: &str, days: i64) -> FailurePattern {
    let visibility = user.map_or(Visibility::Tenant, |u| Visibility::User(UserId::new(u).unwrap()));
    let scope = Scope::new(TenantId::new("acme").unwrap(), visibility);
    let seen = Timestamp::from_second(Timestamp::now().as_second() - 86_400 * days).unwrap();
    FailurePattern {
        id: MemoryId::failure_pattern(&scope.tenant, &scope.visibility.keyword(), key),
        scope,
        action_name: "bash".to_owned(),
        signature: key.to_owned(),
        example: "permission denied".to_owned(),
        action_detail: CALL.to_owned(),
        cause: "permission denied".to_owned(),
        suggestion: "use another prefix".to_owned(),
        environment: Environment::default(),
        sources: vec![TraceId::new("t").unwrap()],
        supported: 0,
        refuted: 0,
        first_seen: seen,
        last_seen: seen,
        frequency: None,
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn a_call_is_compared_without_the_store() {
    let world = World::new().await;
    world.write(pattern(None, "one", 1)).await;
    world.write(pattern(None, "old", 31)).await;
    let all = viewer(None);
    assert!(!world.failures.of(&all).is_whole, "nothing was read yet");
    world.failures.ready(&all).await;
    let reads = world.store.made(StoreCall::List);
    let sight = world.failures.of(&all);
    assert!(sight.is_true && sight.is_whole && !sight.is_empty());
    assert_eq!(world.known(&all), 1, "what was not seen of late is not kept");
    world.failures.ready(&all).await;
    assert_eq!(world.store.made(StoreCall::List), reads);
}

#[tokio::test]
async fn a_change_voids_the_copy_and_is_read_behind_the_calls() {
    let world = World::new().await;
    let all = viewer(None);
    world.failures.ready(&all).await;
    assert!(world.failures.of(&all).is_true);
    world.write(pattern(None, "new", 0)).await;
    assert!(!world.failures.of(&all).is_true, "it may lack something");
    until("the new failure is known", || world.known(&all) == 1).await;
    until("the copy is true again", || world.failures.of(&all).is_true).await;
    world.failures.lost();
    assert!(!world.failures.of(&all).is_true, "changes are not heard");
}

#[tokio::test]
async fn each_sees_its_own() {
    let world = World::new().await;
    world.write(pattern(Some("ann"), "hers", 1)).await;
    world.write(pattern(Some("bob"), "his", 1)).await;
    world.write(pattern(None, "all", 1)).await;
    for (user, known) in [(Some("ann"), 2), (Some("bob"), 2), (None, 1)] {
        let viewer = viewer(user);
        world.failures.ready(&viewer).await;
        assert_eq!(world.known(&viewer), known, "{user:?}");
        let found = world.failures.of(&viewer).like(&signs("bash", CALL), 0.5);
        assert!(found.iter().all(|one| viewer.may_see(&one.pattern.scope)));
    }
}

#[tokio::test]
async fn what_is_in_the_store_is_asked_for_before_it_is_said() {
    let world = World::new().await;
    world.write(pattern(None, "one", 1)).await;
    let all = viewer(None);
    world.failures.ready(&all).await;
    let found = world.failures.of(&all).like(&signs("bash", CALL), 0.5);
    let changed = FailurePattern { suggestion: "do it as root".to_owned(), ..pattern(None, "one", 0) };
    world.write(changed).await;
    let stored = world.failures.as_stored(&all, found.clone()).await.unwrap();
    assert_eq!(stored[0].pattern.suggestion, "do it as root");
    let mut gone = found;
    gone[0].pattern = Arc::new(pattern(None, "never written", 0));
    assert!(world.failures.as_stored(&all, gone).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_store_that_is_away_is_told_from_one_that_is_empty() {
    let world = World::new().await;
    world.write(pattern(None, "one", 1)).await;
    let all = viewer(None);
    world.store.inject(Calls::Reads, When::Always, Fault::Refuse(StoreError::Unavailable("away".to_owned())));
    world.failures.ready(&all).await;
    assert!(!world.failures.of(&all).is_whole);
    world.store.heal();
    until("it is read once the store is back", || world.known(&all) == 1).await;
}
