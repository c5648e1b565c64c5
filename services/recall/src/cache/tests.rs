use std::time::Duration;

use hindsight_ports::{
    CandidateId, Encoded, SparseVector, SystemClock,
    testkit::faulty_store::{Calls, Fault, FaultyStore, StoreCall, When},
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{Fact, FactStatus, Memory, Period, Scope, TenantId, Timestamp, UserId, Visibility};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::*;

const TENANTS: [&str; 2] = ["acme", "other"];
const USERS: [&str; 4] = ["ann", "bob", "安", "many"];
const NAMES: [&str; 4] = ["Redis", "INV-78901", "李雷", "Ｋａｆｋａ"];
const DIMENSION: usize = 8;
const MOST: usize = 40;

struct World {
    store: Arc<FaultyStore>,
    memories: Memories,
    _dir: tempfile::TempDir,
}

fn settings() -> CacheSettings {
    CacheSettings { facts_per_user: MOST, facts_ttl: Duration::from_secs(3_600), ..CacheSettings::default() }
}

impl World {
    async fn new() -> Self {
        Self::with(&settings()).await
    }

    async fn with(settings: &CacheSettings) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let backend = EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap();
        let store = Store::new(Arc::new(backend), StoreOptions::default());
        let embedder = hindsight_ports::EmbedderId { model: "test".to_owned(), dimension: DIMENSION };
        store.prepare(&embedder).await.unwrap();
        let store = Arc::new(FaultyStore::new(Arc::new(store), 1));
        let watch = WatchSettings::default();
        let memories = Memories::kept(settings, store.clone(), Arc::new(SystemClock), &watch);
        memories.facts.as_ref().unwrap().joined();
        Self { store, memories, _dir: dir }
    }

    /// As a writer of this process does.
    async fn write(&self, facts: Vec<Encoded<Memory>>) {
        let changes: Vec<_> = facts.iter().map(|f| MemoryChange::of(&f.value)).collect();
        let _writing = self.memories.on_write()(&changes);
        self.store.upsert(&facts).await.unwrap();
    }

    fn is_kept(&self, viewer: &Viewer) -> bool {
        self.memories.view(viewer).facts.is_some()
    }

    /// Asks until the facts of this viewer are in memory.
    async fn warm(&self, viewer: &Viewer) {
        let warming = async {
            while !self.is_kept(viewer) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), warming).await.expect("is kept in time");
    }
}

fn viewer(tenant: &str, user: &str) -> Viewer {
    Viewer::of_tenant(TenantId::new(tenant).unwrap()).with_user(Some(UserId::new(user).unwrap()))
}

/// The `n`th fact of a user, unlike any other.
fn fact(tenant: &str, user: &str, n: usize) -> Encoded<Memory> {
    let tenant_id = TenantId::new(tenant).unwrap();
    let at = Timestamp::from_second(1_700_000_000 + 3_600 * n as i64).unwrap();
    let content = format!("{tenant} {user} {n} 喜欢茶");
    let mut fact = Fact::new(&tenant_id, UserId::new(user).unwrap(), &format!("k{n}"), &content, at);
    fact.entities = vec![NAMES[n % NAMES.len()].to_owned()];
    if n % 7 == 6 {
        fact.status = FactStatus::Obsolete;
    }
    let mut dense: Vec<f32> =
        (0..DIMENSION).map(|i| ((n * 31 + i * 17 + user.len() * 7) % 23) as f32 - 11.0).collect();
    let length = dense.iter().map(|x| x * x).sum::<f32>().sqrt();
    dense.iter_mut().for_each(|x| *x /= length);
    let sparse =
        SparseVector { indices: vec![1, 2 + n as u32 % 5, 10], values: vec![0.5, 1.0 + n as f32 / 9.0, 0.3] };
    Encoded { value: Memory::Fact(fact), encoding: hindsight_ports::Encoding { dense, sparse } }
}

async fn populated() -> World {
    let world = World::new().await;
    for tenant in TENANTS {
        for (user, count) in USERS.into_iter().zip([0, 5, 30, 80]) {
            let facts: Vec<_> = (0..count).map(|n| fact(tenant, user, n)).collect();
            world.write(facts).await;
        }
    }
    world
}

fn arms() -> impl Strategy<Value = Arm> {
    let names = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 0..3);
    let vector = prop::collection::vec(-1.0_f32..1.0, DIMENSION);
    let terms = prop::collection::btree_set(0_u32..12, 0..5);
    let days = (0_i64..5, 0_i64..5);
    prop_oneof![
        vector.prop_map(|v| {
            let length = v.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-3);
            Arm::Dense(v.into_iter().map(|x| x / length).collect())
        }),
        terms.prop_map(|terms| {
            let values = vec![1.0; terms.len()];
            Arm::Bm25(SparseVector { indices: terms.into_iter().collect(), values })
        }),
        names.prop_map(|names| Arm::Entities(names.into_iter().map(str::to_lowercase).collect())),
        days.prop_map(|(from, length)| {
            let day = |n: i64| Timestamp::from_second(1_700_000_000 + 86_400 * n).unwrap();
            Arm::Period(Period { from: day(from), until: day(from + length) })
        }),
    ]
}

/// What the store and the view propose is the same, but for the noise of arithmetic.
fn same(arm: &Arm, stored: &[Candidate], kept: &[Candidate]) {
    assert_eq!(stored.len(), kept.len());
    for (s, k) in stored.iter().zip(kept) {
        assert!((s.score - k.score).abs() < 1e-4, "{s:?} {k:?}");
        if !matches!(arm, Arm::Dense(_)) {
            assert_eq!(s.id, k.id);
        }
    }
    let lowest = stored.last().map_or(0.0, |c| c.score);
    for k in kept {
        let tie = (k.score - lowest).abs() < 1e-4;
        let twin = stored.iter().find(|s| s.id == k.id);
        assert!(twin.is_some() || tie, "proposed by no store: {k:?}");
        if let Some(twin) = twin {
            assert_eq!(twin.encoding.sparse, k.encoding.sparse);
        }
    }
}

/// Every viewer sees through the copies what it sees in the store, and of nobody else anything.
#[test]
fn a_view_shows_what_the_store_shows_and_nothing_of_others() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(populated());
    let viewers = (prop::sample::select(TENANTS.to_vec()), prop::sample::select(USERS.to_vec()));
    proptest!(ProptestConfig::with_cases(200), |((tenant, user) in viewers, arm in arms(), limit in 0_usize..40)| {
        runtime.block_on(async {
            let viewer = viewer(tenant, user);
            if user != "many" {
                world.warm(&viewer).await;
            }
            let view = world.memories.view(&viewer);
            let search = Search { kind: MemoryKind::Fact, arm, limit, action_name: None, ids: None };
            let stored = world.store.search(&viewer, &search).await.unwrap();
            // The second time from memory, whatever the arm.
            for _ in 0..2 {
                let kept = view.search(&search).await.unwrap();
                same(&search.arm, &stored, &kept);
                let ids: Vec<CandidateId> = kept.iter().map(|c| c.id).collect();
                let mut fetched = view.fetch(MemoryKind::Fact, &ids).await.unwrap();
                let mut expected = world.store.fetch(&viewer, MemoryKind::Fact, &ids).await.unwrap();
                fetched.sort_by_key(|f| f.id);
                expected.sort_by_key(|f| f.id);
                prop_assert_eq!(&fetched, &expected);
                let own = Scope::new(viewer.tenant.clone(), Visibility::User(viewer.user.clone().unwrap()));
                prop_assert!(fetched.iter().all(|f| *f.memory.scope() == own));
            }
            Ok(())
        })?;
    });
}

/// Ids of facts of another user bring nothing.
#[tokio::test]
async fn the_facts_of_another_are_not_fetched() {
    let world = populated().await;
    let [mine, other] = [viewer("acme", "bob"), viewer("acme", "安")];
    world.warm(&mine).await;
    world.warm(&other).await;
    let all = Arm::Period(Period { from: Timestamp::MIN, until: Timestamp::MAX });
    let search = Search { kind: MemoryKind::Fact, arm: all, limit: 100, action_name: None, ids: None };
    let theirs = world.memories.view(&other).search(&search).await.unwrap();
    let ids: Vec<CandidateId> = theirs.iter().map(|c| c.id).collect();
    assert!(!ids.is_empty());
    assert_eq!(world.memories.view(&mine).fetch(MemoryKind::Fact, &ids).await.unwrap(), []);
}

#[tokio::test]
async fn a_warm_user_needs_no_store_for_a_known_question() {
    let world = populated().await;
    let viewer = viewer("acme", "bob");
    world.warm(&viewer).await;
    let view = world.memories.view(&viewer);
    let search = |arm| Search { kind: MemoryKind::Fact, arm, limit: 10, action_name: None, ids: None };
    let words = search(Arm::Bm25(SparseVector { indices: vec![1, 3], values: vec![1.0, 1.0] }));
    let before = view.search(&words).await.unwrap();
    let away = || Fault::Refuse(StoreError::Unavailable("away".to_owned()));
    for call in [StoreCall::Search, StoreCall::Fetch] {
        world.store.inject(Calls::Only(call), When::Always, away());
    }
    assert_eq!(view.search(&words).await.unwrap(), before);
    let near = view.search(&search(Arm::Dense(vec![1.0; DIMENSION]))).await.unwrap();
    let ids: Vec<CandidateId> = near.iter().map(|c| c.id).collect();
    assert_eq!(view.fetch(MemoryKind::Fact, &ids).await.unwrap().len(), 5);
    let unknown = search(Arm::Bm25(SparseVector { indices: vec![4], values: vec![1.0] }));
    assert!(view.search(&unknown).await.is_err(), "only the store knows the rarity of words");
}

#[tokio::test]
async fn a_change_is_seen_at_once_and_others_stay() {
    let world = populated().await;
    let [bob, other] = [viewer("acme", "bob"), viewer("acme", "安")];
    world.warm(&bob).await;
    world.warm(&other).await;
    world.write(vec![fact("acme", "bob", 91)]).await;
    assert!(!world.is_kept(&bob), "what was kept is out of date");
    assert!(world.is_kept(&other));
    world.warm(&bob).await;
    let view = world.memories.view(&bob);
    let all = Arm::Period(Period { from: Timestamp::MIN, until: Timestamp::MAX });
    let search = Search { kind: MemoryKind::Fact, arm: all, limit: 100, action_name: None, ids: None };
    assert_eq!(view.search(&search).await.unwrap().len(), 6);
}

#[tokio::test]
async fn a_change_while_facts_are_read_voids_what_was_read() {
    let world = populated().await;
    let bob = viewer("acme", "bob");
    let slow = Fault::Delay(Duration::from_millis(50));
    world.store.inject(Calls::Only(StoreCall::Fetch), When::Always, slow);
    assert!(!world.is_kept(&bob));
    assert!(!world.is_kept(&bob), "being read");
    let facts = world.memories.facts.as_ref().unwrap();
    facts.changed(&[MemoryChange::of(&fact("acme", "bob", 1).value)]);
    let reading = async {
        while facts.is_reading() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
    assert!(!world.is_kept(&bob), "read before the change");
}

/// Who sees the store's new answer must not be given an old one by recall, however late the writer goes on.
#[tokio::test]
async fn nothing_of_a_user_is_kept_while_it_is_written() {
    let world = populated().await;
    let [bob, other] = [viewer("acme", "bob"), viewer("acme", "安")];
    world.warm(&bob).await;
    world.warm(&other).await;
    let change = MemoryChange::of(&fact("acme", "bob", 1).value);
    let writing = world.memories.on_write()(&[change]);
    for _ in 0..5 {
        assert!(!world.is_kept(&bob));
    }
    assert!(world.is_kept(&other));
    drop(writing);
    assert!(!world.is_kept(&bob), "from before the write");
    world.warm(&bob).await;
}

#[tokio::test]
async fn nothing_is_kept_while_changes_are_not_heard() {
    let world = populated().await;
    let bob = viewer("acme", "bob");
    world.warm(&bob).await;
    let facts = world.memories.facts.as_ref().unwrap();
    facts.lost();
    for _ in 0..5 {
        assert!(!world.is_kept(&bob));
    }
    facts.joined();
    assert!(!world.is_kept(&bob), "from before the gap");
    world.warm(&bob).await;
}

#[tokio::test]
async fn a_user_asked_for_once_between_changes_is_not_read_ahead() {
    let world = populated().await;
    let bob = viewer("acme", "bob");
    let facts = world.memories.facts.as_ref().unwrap();
    for n in 0..10 {
        assert!(!world.is_kept(&bob));
        assert!(!facts.is_reading());
        world.write(vec![fact("acme", "bob", n)]).await;
    }
}

#[tokio::test]
async fn a_user_with_too_many_facts_is_left_to_the_store() {
    let world = populated().await;
    let many = viewer("acme", "many");
    let facts = world.memories.facts.as_ref().unwrap();
    for _ in 0..2 {
        assert!(!world.is_kept(&many));
    }
    while facts.is_reading() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for _ in 0..5 {
        assert!(!world.is_kept(&many));
        assert!(!facts.is_reading(), "it is known that they are too many");
    }
}

#[tokio::test]
async fn facts_are_read_anew_after_their_time() {
    let world = World::with(&CacheSettings { facts_ttl: Duration::from_millis(1), ..settings() }).await;
    let bob = viewer("acme", "bob");
    for _ in 0..20 {
        assert!(!world.is_kept(&bob));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn takes_no_more_room_than_given() {
    let most = 200_000;
    let world = World::with(&CacheSettings { facts_bytes: most, ..settings() }).await;
    for n in 0..40 {
        let user = format!("u{n}");
        world.write((0..20).map(|n| fact("acme", &user, n)).collect()).await;
        world.warm(&viewer("acme", &user)).await;
        assert!(world.memories.facts.as_ref().unwrap().weight() <= most);
    }
}

#[tokio::test]
async fn a_user_whose_facts_are_large_is_left_to_the_store() {
    let world = World::with(&CacheSettings { facts_bytes: 400_000, ..settings() }).await;
    let mut large = fact("acme", "bob", 1);
    if let Memory::Fact(fact) = &mut large.value {
        fact.content = "字".repeat(20_000);
    }
    world.write(vec![large]).await;
    let (bob, facts) = (viewer("acme", "bob"), world.memories.facts.as_ref().unwrap());
    for _ in 0..2 {
        assert!(!world.is_kept(&bob));
    }
    while facts.is_reading() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(!world.is_kept(&bob));
    assert!(!facts.is_reading(), "it is known that they are too large");
}

#[test]
fn a_change_that_cannot_be_read_is_told() {
    let mut message = hindsight_ports::testkit::bus::envelope(1);
    assert!(changes(message.clone()).unwrap_err().contains("unknown schema"));
    message.schema = schema::MEMORIES_CHANGED.to_owned();
    message.payload = vec![0xff];
    assert!(changes(message.clone()).is_err());
    let change = MemoryChange::of(&fact("acme", "安", 1).value);
    message.payload = hindsight_codec::changes_to_proto([&change]).encode_to_vec();
    assert_eq!(changes(message).unwrap(), [change]);
}
