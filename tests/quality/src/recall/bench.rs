//! A store with facts in it, and the three ways to ask it.

use std::sync::Arc;

use hindsight_embed::HashingEmbedder;
use hindsight_ports::{Embedder, Encoding, Hit, MemoryStore, Purpose, HitSearch, SparseVector};
use hindsight_rank::{DenseScale, Ranking, Request, Settings, rank};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    Environment, Fact, Memory, MemoryKind, ReceiptId, TenantId, Timestamp, UserId, Viewer,
};

/// Candidates per arm, as in the service.
const CANDIDATES: usize = 50;
/// The longest answer of the service.
const LIMIT: usize = 10;

/// Which arms search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) enum Arms {
    /// In the engine's order by the sparse score.
    Bm25,
    /// In the engine's order by cosine.
    Dense,
    /// Both, in the order of `rank`, with its floor.
    Fused,
}

impl Arms {
    pub(crate) const ALL: [Self; 3] = [Self::Bm25, Self::Dense, Self::Fused];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "BM25 alone",
            Self::Dense => "dense alone",
            Self::Fused => "fused",
        }
    }
}

pub(crate) struct Bench {
    store: Store,
    embedder: HashingEmbedder,
    tenant: TenantId,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let backend = EdgeBackend::open(dir.path(), EdgeOptions::default())?;
        let store = Store::new(Arc::new(backend), StoreOptions::default());
        let embedder = HashingEmbedder::default();
        store.prepare(embedder.id()).await?;
        Ok(Self { store, embedder, tenant: TenantId::new("quality")?, _dir: dir })
    }

    /// A fact of `user` under `key`, as the collector would make it.
    pub(crate) fn fact(&self, user: &str, key: &str, content: String, at: Timestamp) -> anyhow::Result<Fact> {
        let user = UserId::new(user)?;
        Ok(Fact::new(&self.tenant, user, key, &content, at))
    }

    pub(crate) async fn retain(&self, facts: Vec<Fact>) -> anyhow::Result<()> {
        let memories = facts.into_iter().map(Memory::Fact).collect();
        let encoded = hindsight_ingest::encode::memories(&self.embedder, memories).await?;
        for batch in encoded.chunks(500) {
            self.store.upsert(batch).await?;
        }
        Ok(())
    }

    /// The keys of the facts that come first, at most ten.
    pub(crate) async fn ask(
        &self,
        arms: Arms,
        user: &str,
        query: &str,
        now: Timestamp,
    ) -> anyhow::Result<Vec<String>> {
        let (indices, values) = hindsight_text::bm25::encode_query(query);
        let mut encoding = Encoding { dense: Vec::new(), sparse: SparseVector { indices, values } };
        if arms != Arms::Bm25 {
            let vectors = self.embedder.embed(&[query.to_owned()], Purpose::Query).await?;
            encoding.dense = vectors.into_iter().next().unwrap_or_default();
        }
        if arms == Arms::Dense {
            encoding.sparse = SparseVector::default();
        }
        let viewer = Viewer::of_tenant(self.tenant.clone()).with_user(Some(UserId::new(user)?));
        let search =
            HitSearch { kind: MemoryKind::Fact, encoding, limit: CANDIDATES, action_name: None, ids: None };
        let hits = self.store.search_hits(&viewer, &search).await?;
        let memories: Vec<Memory> = match arms {
            Arms::Fused => self.rank(hits, query, now).items.into_iter().map(|i| i.memory).collect(),
            Arms::Bm25 => best(hits, |h| h.sparse),
            Arms::Dense => best(hits, |h| h.dense),
        };
        let keys = memories.into_iter().filter_map(|m| match m {
            Memory::Fact(fact) => Some(fact.key),
            _ => None,
        });
        Ok(keys.collect())
    }

    fn rank(&self, hits: Vec<Hit>, query: &str, now: Timestamp) -> Ranking {
        let request = Request {
            query,
            environment: &Environment::default(),
            now,
            limit: LIMIT,
            token_budget: usize::MAX,
            receipt: ReceiptId(uuid::Uuid::nil()),
            dense: DenseScale::of(self.embedder.id()),
        };
        rank(hits, &request, &Settings::default())
    }
}

fn best(mut hits: Vec<Hit>, score: impl Fn(&Hit) -> Option<f32>) -> Vec<Memory> {
    hits.retain(|h| score(h).is_some_and(|s| s > 0.0));
    let key = |h: &Hit| score(h).unwrap_or_default();
    hits.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.memory.id().cmp(&b.memory.id())));
    hits.into_iter().take(LIMIT).map(|h| h.memory).collect()
}
