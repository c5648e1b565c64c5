//! A store with memories in it, and the ways to ask it.

use std::{collections::HashMap, sync::Arc};

use hindsight_ports::{Arm, Candidate, CandidateId, Embedder, Fetched, MemoryStore, Purpose, Search};
use hindsight_rank::{DenseScale, Pool, Query, Ranking, Request, block::Style};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    Environment, Memory, MemoryId, MemoryKind, ReceiptId, TenantId, Timestamp, UserId, Viewer,
};
use jiff::tz::TimeZone;

use super::{embedder::Cached, variant::Variant};

/// Candidates per arm, as in the service.
const CANDIDATES: usize = 50;
/// The longest answer of the service.
const LIMIT: usize = 10;

pub(crate) struct Bench {
    store: Store,
    embedder: Arc<Cached>,
    pub(crate) tenant: TenantId,
    _dir: tempfile::TempDir,
}

/// A question with all that any arm proposes for it, read.
pub(crate) struct Asked {
    query: Query,
    dense: Vec<f32>,
    scale: DenseScale,
    kind: MemoryKind,
    proposals: Vec<(Arm, Vec<Candidate>)>,
    memories: HashMap<CandidateId, Memory>,
    now: Timestamp,
}

/// What came of a question.
pub(crate) struct Answer {
    /// Best first.
    pub(crate) memories: Vec<Memory>,
    /// Highest similarity of all; 0 without any.
    pub(crate) similarity: f32,
}

impl Bench {
    pub(crate) async fn new(embedder: &Arc<Cached>) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let backend = EdgeBackend::open(dir.path(), EdgeOptions::default())?;
        let store = Store::new(Arc::new(backend), StoreOptions::default());
        store.prepare(embedder.id()).await?;
        Ok(Self { store, embedder: embedder.clone(), tenant: TenantId::new("quality")?, _dir: dir })
    }

    pub(crate) async fn retain(&self, memories: Vec<Memory>) -> anyhow::Result<()> {
        let encoded = hindsight_ingest::encode::memories(&*self.embedder, memories).await?;
        for batch in encoded.chunks(500) {
            self.store.upsert(batch).await?;
        }
        Ok(())
    }

    /// Asks every arm. `besides`: a memory that is not to be found.
    pub(crate) async fn ask(
        &self,
        kind: MemoryKind,
        user: Option<&str>,
        question: &str,
        now: Timestamp,
        besides: Option<MemoryId>,
    ) -> anyhow::Result<Asked> {
        let query = Query::new(question, &[], now, &TimeZone::UTC);
        let vectors = self.embedder.embed(&[query.embedded().to_owned()], Purpose::Query).await?;
        let dense = vectors.into_iter().next().unwrap_or_default();
        let viewer = Viewer::of_tenant(self.tenant.clone()).with_user(user.map(UserId::new).transpose()?);
        let arms = [
            Some(Arm::Dense(dense.clone())),
            Some(Arm::Bm25(query.sparse())).filter(|_| !query.sparse().indices.is_empty()),
            Some(Arm::Entities(query.names().to_vec())).filter(|_| !query.names().is_empty()),
            query.period().map(Arm::Period),
        ];
        let mut asked = Asked {
            dense,
            scale: DenseScale::of(self.embedder.id()),
            kind,
            proposals: Vec::new(),
            memories: HashMap::new(),
            now,
            query,
        };
        for arm in arms.into_iter().flatten() {
            let search = Search { kind, arm, limit: CANDIDATES + 1, action_name: None, ids: None };
            let found = self.store.search(&viewer, &search).await?;
            asked.proposals.push((search.arm, found));
        }
        let mut ids: Vec<CandidateId> = asked.proposals.iter().flat_map(|(_, c)| c).map(|c| c.id).collect();
        ids.sort();
        ids.dedup();
        let read = self.store.fetch(&viewer, kind, &ids).await?;
        asked.memories =
            read.into_iter().map(|f| (f.id, f.memory)).filter(|(_, m)| Some(m.id()) != besides).collect();
        for (_, candidates) in &mut asked.proposals {
            candidates.retain(|c| asked.memories.contains_key(&c.id));
            candidates.truncate(CANDIDATES);
        }
        Ok(asked)
    }
}

impl Asked {
    pub(crate) fn answer(&self, variant: &Variant) -> Answer {
        match variant.alone {
            Some(arm) => self.alone(arm),
            None => self.ranked(variant),
        }
    }

    /// In the engine's order.
    fn alone(&self, arm: &str) -> Answer {
        let of = self.proposals.iter().filter(|(a, _)| a.name() == arm);
        let found = of.flat_map(|(_, candidates)| candidates).filter(|c| c.score > 0.0).take(LIMIT);
        let memories = found.filter_map(|c| self.memories.get(&c.id)).cloned().collect();
        Answer { memories, similarity: 0.0 }
    }

    fn ranked(&self, variant: &Variant) -> Answer {
        let dense = if variant.meaning { self.dense.clone() } else { Vec::new() };
        let scale = variant.settings.dense.unwrap_or(self.scale);
        let mut pool = Pool::new(self.query.clone(), dense, scale, variant.settings.clone());
        for (arm, candidates) in self.proposals.iter().filter(|(arm, _)| variant.asks(arm)) {
            pool.add(self.kind, arm, candidates.clone());
        }
        let listed = pool.shortlist().into_iter();
        let read = |(_, id)| self.memories.get(&id).map(|m| Fetched { id, memory: m.clone() });
        let fetched: Vec<Fetched> = listed.filter_map(read).collect();
        let request = Request {
            query: self.query.text(),
            environment: &Environment::default(),
            now: self.now,
            limit: LIMIT,
            token_budget: usize::MAX,
            receipt: ReceiptId(uuid::Uuid::nil()),
            style: Style::default(),
            said: None,
        };
        let Ranking { items, .. } = pool.rank(fetched, &request);
        let similarity = items.iter().map(|i| i.factors.similarity).fold(0.0, f32::max);
        Answer { memories: items.into_iter().map(|i| i.memory).collect(), similarity }
    }
}
