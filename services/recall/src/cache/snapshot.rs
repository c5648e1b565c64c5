//! All facts of one user in memory. The arms propose from it what the store would.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
    mem::size_of,
    sync::{Mutex, PoisonError},
};

use hindsight_codec::memory_to_proto;
use hindsight_ports::{
    Arm, Candidate, CandidateId, Encoding, Fetched, MemoryStore, Search, SparseVector, StoreError,
    store::MOST_NAMES,
};
use hindsight_text::entity_key;
use hindsight_types::{Memory, MemoryKind, Period, Timestamp, Viewer};
use prost::Message as _;

/// The most that the store gives at once; what asks for more is left to it to refuse.
const LARGEST: usize = 1_000;
/// Facts that are read at once.
const AT_ONCE: usize = 64;
/// Searches for words that are remembered.
const WORDS: usize = 16;

struct Kept {
    id: CandidateId,
    /// When it occurred, microseconds.
    at: i64,
    names: Vec<String>,
    encoding: Encoding,
    memory: Memory,
}

/// What the store answered to a search for words. Only the store knows how rare a word is among all that it
/// holds, so these sums are remembered and never made up.
struct Words {
    query: SparseVector,
    limit: usize,
    scores: Vec<(CandidateId, f32)>,
}

pub(super) struct Snapshot {
    /// Newest first.
    facts: Vec<Kept>,
    places: HashMap<CandidateId, usize>,
    words: Mutex<VecDeque<Words>>,
    bytes: usize,
}

impl Snapshot {
    /// Reads the facts that this viewer sees. `None`: there are more than `most`, or they take more than `bytes`.
    pub(super) async fn read(
        store: &dyn MemoryStore,
        viewer: &Viewer,
        most: usize,
        bytes: usize,
    ) -> Result<Option<Self>, StoreError> {
        let ever = Period { from: Timestamp::MIN, until: Timestamp::MAX };
        let limit = (most + 1).min(LARGEST);
        let all =
            Search { kind: MemoryKind::Fact, arm: Arm::Period(ever), limit, action_name: None, ids: None };
        let candidates = store.search(viewer, &all).await?;
        if candidates.len() >= limit {
            return Ok(None);
        }
        let ids: Vec<CandidateId> = candidates.iter().map(|c| c.id).collect();
        let (mut fetched, mut room) = (Vec::with_capacity(ids.len()), bytes);
        for some in ids.chunks(AT_ONCE) {
            let read = store.fetch(viewer, MemoryKind::Fact, some).await?;
            let Some(left) = room.checked_sub(read.iter().map(|f| weight(&f.memory)).sum()) else {
                return Ok(None);
            };
            room = left;
            fetched.extend(read);
        }
        Ok(Some(Self::new(candidates, fetched)).filter(|facts| facts.bytes <= bytes))
    }

    fn new(candidates: Vec<Candidate>, fetched: Vec<Fetched>) -> Self {
        let mut memories: HashMap<CandidateId, Memory> =
            fetched.into_iter().map(|f| (f.id, f.memory)).collect();
        let kept = candidates.into_iter().filter_map(|Candidate { id, encoding, .. }| {
            let memory = memories.remove(&id)?;
            let Memory::Fact(fact) = &memory else { return None };
            let at = fact.occurred_at.as_microsecond();
            let names = fact.entities.iter().flat_map(|name| [entity_key(name), name.clone()]).collect();
            Some(Kept { id, at, names, encoding, memory })
        });
        let mut facts: Vec<Kept> = kept.collect();
        facts.sort_by_key(|fact| (Reverse(fact.at), fact.id));
        let places = facts.iter().enumerate().map(|(place, fact)| (fact.id, place)).collect();
        let bytes =
            size_of::<Self>() + facts.iter().map(Kept::bytes).sum::<usize>() + WORDS * facts.len() * 20;
        Self { facts, places, words: Mutex::default(), bytes }
    }

    /// What it takes in memory, roughly, remembered searches included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the store would propose. `None`: only the store can tell.
    pub(super) fn propose(&self, search: &Search) -> Option<Vec<Candidate>> {
        let simple = search.ids.is_none() && search.action_name.is_none();
        if !simple || search.limit > LARGEST {
            return None;
        }
        match &search.arm {
            Arm::Dense(query) => self.nearest(query, search.limit),
            Arm::Bm25(query) => self.recalled(query, search.limit),
            Arm::Entities(names) => self.named(names, search.limit),
            Arm::Period(period) => Some(self.within(*period, search.limit)),
        }
    }

    fn nearest(&self, query: &[f32], limit: usize) -> Option<Vec<Candidate>> {
        if !query.iter().all(|x| x.is_finite()) {
            return None;
        }
        let comparable = |fact: &&Kept| !query.is_empty() && fact.encoding.dense.len() == query.len();
        let dot = |fact: &Kept| query.iter().zip(&fact.encoding.dense).map(|(a, b)| a * b).sum::<f32>();
        let mut scored: Vec<(f32, &Kept)> =
            self.facts.iter().filter(comparable).map(|fact| (dot(fact), fact)).collect();
        scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.id.cmp(&y.id)));
        Some(scored.into_iter().take(limit).map(|(score, fact)| fact.candidate(score)).collect())
    }

    fn named(&self, names: &[String], limit: usize) -> Option<Vec<Candidate>> {
        if names.len() > MOST_NAMES {
            return None;
        }
        let keys: HashSet<String> = names.iter().flat_map(|name| [entity_key(name), name.clone()]).collect();
        let found =
            self.facts.iter().filter(|fact| fact.names.iter().any(|n| !n.is_empty() && keys.contains(n)));
        Some(found.take(limit).map(|fact| fact.candidate(1.0)).collect())
    }

    fn within(&self, period: Period, limit: usize) -> Vec<Candidate> {
        let (from, until) = (period.from.as_microsecond(), period.until.as_microsecond());
        let found = self.facts.iter().filter(|fact| from <= fact.at && fact.at < until);
        found.take(limit).map(|fact| fact.candidate(1.0)).collect()
    }

    fn recalled(&self, query: &SparseVector, limit: usize) -> Option<Vec<Candidate>> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let known = words.iter().find(|known| known.limit == limit && known.query == *query)?;
        let candidate = |(id, score): &(CandidateId, f32)| Some(self.fact(*id)?.candidate(*score));
        known.scores.iter().map(candidate).collect()
    }

    /// Remembers what the store answered, unless it knows of a fact that is not here.
    pub(super) fn learn(&self, search: &Search, found: &[Candidate]) {
        let Arm::Bm25(query) = &search.arm else { return };
        if search.ids.is_some() || found.iter().any(|c| self.fact(c.id).is_none()) {
            return;
        }
        let scores = found.iter().map(|c| (c.id, c.score)).collect();
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.truncate(WORDS - 1);
        words.push_front(Words { query: query.clone(), limit: search.limit, scores });
    }

    /// `None`: one of them is not here.
    pub(super) fn fetch(&self, ids: &[CandidateId]) -> Option<Vec<Fetched>> {
        ids.iter().map(|id| Some(Fetched { id: *id, memory: self.fact(*id)?.memory.clone() })).collect()
    }

    fn fact(&self, id: CandidateId) -> Option<&Kept> {
        self.places.get(&id).and_then(|place| self.facts.get(*place))
    }
}

impl Kept {
    fn candidate(&self, score: f32) -> Candidate {
        Candidate { id: self.id, score, encoding: self.encoding.clone() }
    }

    fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|n| n.capacity() + size_of::<String>()).sum();
        let Encoding { dense, sparse } = &self.encoding;
        let vectors = 4 * (dense.capacity() + sparse.indices.capacity() + sparse.values.capacity());
        size_of::<Self>() + names + vectors + weight(&self.memory)
    }
}

/// Bytes of a memory as text, and once more for the many small parts that it is made of.
fn weight(memory: &Memory) -> usize {
    2 * memory_to_proto(memory).encoded_len()
}
