//! How near a candidate is to the question, as an absolute measure.
//!
//! Order and height are told apart. A BM25 sum orders best but has no scale of its own: it grows with the
//! question. So the candidates of a kind are ordered by a weighted sum of signs, each relative to the best of
//! the kind. How high that order may reach is given by two absolute measures: coverage, which is the share of
//! the question's words, by rarity, that a candidate holds; and the cosine on the scale of its embedder. Of the
//! irrelevant, even the first stays low. A sign that the question does not give (no name in it, no time, no
//! embedding) leaves its share to the others. Reciprocal rank fusion is not used: it has no height, and with a
//! weak arm it measures below BM25 alone.

mod names;

use std::collections::BTreeMap;

use hindsight_ports::{CandidateId, Fetched};
use hindsight_text::token_set;
use hindsight_types::{Memory, MemoryKind, Period, SimilarityParts};

use crate::{
    Pool, Request, Settings,
    conflict::Words,
    factors::{factors, supported_at},
    pool::{Entry, Rarity},
    query::Term,
    read::own,
    select::Candidate,
    settings::Weights,
};
use names::Names;

/// Signs that a candidate is meant. Absent: not known, or not asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Signs {
    /// BM25 sum relative to the highest.
    words: Option<f32>,
    /// Share of the words in what it says itself.
    own: Option<f32>,
    /// Calibrated cosine relative to the highest.
    meaning: Option<f32>,
    entities: Option<f32>,
    period: Option<f32>,
    session: Option<f32>,
}

impl Signs {
    /// 0 to 1: the weighted mean of the signs that are there.
    fn order(&self, weights: &Weights, meaning: f32) -> f32 {
        let signs = [
            (self.words, weights.words),
            (self.own, weights.own),
            (self.meaning, meaning),
            (self.entities, weights.entities),
            (self.period, weights.period),
            (self.session, weights.session),
        ];
        let of = |value: fn((f32, f32)) -> f32| -> f32 {
            signs.iter().filter_map(|(sign, weight)| sign.map(|s| value((s, weight.max(0.0))))).sum()
        };
        let total = of(|(_, weight)| weight);
        if total > 0.0 { (of(|(sign, weight)| sign * weight) / total).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// What is measured over all candidates of a kind.
struct Field<'a> {
    pool: &'a Pool,
    rarity: &'a Rarity,
    /// How many there are to choose from.
    candidates: usize,
    /// Highest BM25 sum.
    sum: f32,
    /// Highest calibrated cosine.
    meaning: f32,
    /// The same as of a candidate alone, for the order: who else is there must not change it.
    nearest: f32,
    /// How high the order reaches.
    height: f32,
    /// Whether any arm found one by a name.
    named: bool,
}

impl<'a> Field<'a> {
    fn new(pool: &'a Pool, entries: &BTreeMap<CandidateId, Entry>, rarity: &'a Rarity) -> Self {
        let most = |of: &dyn Fn(&Entry) -> f32| entries.values().map(of).fold(0.0, f32::max);
        let mut field = Self {
            pool,
            rarity,
            candidates: entries.len(),
            sum: 0.0,
            meaning: 0.0,
            nearest: 0.0,
            height: 0.0,
            named: false,
        };
        field.sum = most(&|e| rarity.sum(e));
        field.meaning = most(&|e| field.meaning_of(e).unwrap_or_default());
        field.nearest = most(&|e| field.alone(e));
        field.named = entries.values().any(|e| e.named);
        let covered = most(&|e| field.covered(e, e.timely));
        field.height = field.height_of(covered);
        field
    }

    /// Words and meaning are two witnesses: what both miss is missed (a noisy or). One alone reaches less high.
    fn height_of(&self, covered: f32) -> f32 {
        let Settings { words_alone, meaning_alone, .. } = self.pool.settings;
        let doubt = |reach: f32, value: f32| 1.0 - reach.clamp(0.0, 1.0) * value;
        // Squared: of hundreds of strangers one is always a little near.
        1.0 - doubt(words_alone, covered) * doubt(meaning_alone, self.meaning * self.meaning)
    }

    fn has_words(&self) -> bool {
        !self.pool.query.terms().is_empty()
    }

    /// Calibrated cosine, 0 to 1.
    fn meaning_of(&self, entry: &Entry) -> Option<f32> {
        entry.cosine().map(|cosine| self.pool.scale.calibrate(cosine, self.candidates))
    }

    fn alone(&self, entry: &Entry) -> f32 {
        entry.cosine().map_or(0.0, |cosine| self.pool.scale.calibrate(cosine, 1))
    }

    /// Coverage; the time that is asked for counts like one more word, as rare as the rarest. Much is of one time, so
    /// time alone answers a question only when it asks for nothing else.
    fn covered(&self, entry: &Entry, timely: bool) -> f32 {
        let held = self.rarity.coverage(entry.held.iter().map(|(place, _)| *place));
        let asks_for_more = self.pool.query.terms().iter().any(|t| t.content);
        match self.pool.query.period() {
            Some(_) => self.rarity.with_one_more(held, timely && (held > 0.0 || !asks_for_more)),
            None => held,
        }
    }

    /// What the vectors alone show.
    fn signs(&self, entry: &Entry) -> Signs {
        let relative = |value: f32, most: f32| if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
        let meaning = self.pool.has_meaning().then(|| relative(self.alone(entry), self.nearest));
        Signs {
            words: self.has_words().then(|| relative(self.rarity.sum(entry), self.sum)),
            meaning,
            entities: self.named.then(|| f32::from(u8::from(entry.named))),
            period: self.pool.query.period().map(|_| f32::from(u8::from(entry.timely))),
            ..Signs::default()
        }
    }

    fn order(&self, signs: &Signs) -> f32 {
        signs.order(&self.pool.settings.weights, self.pool.scale.weight)
    }
}

/// Each candidate of a kind with its place in the order, by its vectors alone.
pub(crate) fn coarse(
    pool: &Pool,
    entries: &BTreeMap<CandidateId, Entry>,
    rarity: &Rarity,
) -> Vec<(f32, CandidateId)> {
    let field = Field::new(pool, entries, rarity);
    entries.iter().map(|(id, entry)| (field.order(&field.signs(entry)), *id)).collect()
}

/// The fetched memories with their scores.
pub(crate) fn candidates(pool: &Pool, fetched: Vec<Fetched>, request: &Request<'_>) -> Vec<Candidate> {
    let mut kinds: BTreeMap<MemoryKind, BTreeMap<CandidateId, Memory>> = BTreeMap::new();
    for Fetched { id, memory } in fetched {
        kinds.entry(memory.kind()).or_default().insert(id, memory);
    }
    let of_kind = |(kind, memories): (MemoryKind, _)| {
        pool.kinds.get(&kind).map(|entries| of_kind(pool, entries, memories, request))
    };
    kinds.into_iter().filter_map(of_kind).flatten().collect()
}

/// One fetched memory on its way to a score.
struct Read<'a> {
    memory: Memory,
    entry: &'a Entry,
    words: Words,
    signs: Signs,
    parts: SimilarityParts,
    timely: bool,
}

fn of_kind(
    pool: &Pool,
    entries: &BTreeMap<CandidateId, Entry>,
    memories: BTreeMap<CandidateId, Memory>,
    request: &Request<'_>,
) -> Vec<Candidate> {
    let rarity = Rarity::new(pool.query.terms(), entries.values());
    let field = Field::new(pool, entries, &rarity);
    let mut read: Vec<Read<'_>> = memories
        .into_iter()
        .filter_map(|(id, memory)| entries.get(&id).map(|entry| look(&field, memory, entry)))
        .collect();
    by_names(&field, &mut read);
    by_session(&field, &mut read);
    let first = read.iter().map(|r| field.order(&r.signs)).fold(0.0, f32::max);
    // What is read of the memories may show more of the time asked for than the arms did.
    let height = read.iter().map(|r| field.height_with(r)).fold(field.height, f32::max);
    let scored = read.into_iter().map(|r| {
        let place = if first > 0.0 { field.order(&r.signs) / first } else { 0.0 };
        let mut parts = r.parts;
        let mut similarity = (place * height).clamp(0.0, 1.0);
        if let Some(said) = pool.reranked.get(&r.memory.id()).copied() {
            let share = pool.settings.rerank_share.clamp(0.0, 1.0);
            similarity = share * said + (1.0 - share) * similarity;
            parts.rerank = Some(said);
        }
        let factors = factors(&r.memory, similarity, parts, request.environment, request.now, &pool.settings);
        Candidate { memory: r.memory, factors, words: r.words, dense: r.entry.dense.clone() }
    });
    scored.collect()
}

impl Field<'_> {
    /// How high the order reaches when this one is of the time that is asked for.
    fn height_with(&self, read: &Read<'_>) -> f32 {
        self.height_of(self.covered(read.entry, read.timely))
    }
}

/// What the memory itself shows, beside its vectors.
fn look<'a>(field: &Field<'_>, memory: Memory, entry: &'a Entry) -> Read<'a> {
    let tokens = own(&memory);
    let terms = field.pool.query.terms();
    let places = |held: &dyn Fn(&Term) -> bool| -> Vec<usize> {
        terms.iter().enumerate().filter(|(_, t)| held(t)).map(|(place, _)| place).collect()
    };
    let own = field.rarity.coverage(places(&|t| tokens.contains(&t.text)).into_iter());
    let timely = field.pool.query.period().is_some_and(|p| is_of(&memory, p));
    let mut signs = field.signs(entry);
    signs.own = signs.words.map(|_| own);
    signs.period = signs.period.map(|_| f32::from(u8::from(timely)));
    let parts = SimilarityParts {
        words: field.rarity.coverage(entry.held.iter().map(|(place, _)| *place)),
        meaning: field.meaning_of(entry).unwrap_or_default(),
        period: signs.period.unwrap_or_default(),
        ..SimilarityParts::default()
    };
    Read { words: Words::new(&memory, tokens), memory, entry, signs, parts, timely }
}

fn is_of(memory: &Memory, period: Period) -> bool {
    period.contains(supported_at(memory))
}

/// Names count by their rarity among the names that the question holds.
fn by_names(field: &Field<'_>, read: &mut [Read<'_>]) {
    let mut names = Names::new(field.pool.query.key(), |name| {
        let tokens = token_set(name);
        let terms = field.pool.query.terms().iter().enumerate();
        field.rarity.weightiest(terms.filter(|(_, t)| tokens.contains(&t.text)).map(|(place, _)| place))
    });
    let weights: Vec<f32> = read.iter().map(|r| names.weight_of(&r.memory)).collect();
    let total = names.total();
    for (r, weight) in read.iter_mut().zip(weights) {
        let share = (total > 0.0).then(|| (weight / total).min(1.0));
        r.signs.entities = share;
        r.parts.entities = share.unwrap_or_default();
    }
}

/// What was said in one session, or done in one run, supports each other: as much as the best of it.
fn by_session(field: &Field<'_>, read: &mut [Read<'_>]) {
    let mut best: BTreeMap<String, (f32, f32)> = BTreeMap::new();
    for r in read.iter() {
        if let Some(session) = session_of(&r.memory) {
            let (words, covered) = best.entry(session).or_default();
            *words = words.max(r.signs.words.unwrap_or_default());
            *covered = covered.max(r.parts.words);
        }
    }
    if best.is_empty() || !field.has_words() {
        return;
    }
    for r in read.iter_mut() {
        let alone = (r.signs.words.unwrap_or_default(), r.parts.words);
        let (words, covered) =
            session_of(&r.memory).and_then(|session| best.get(&session)).copied().unwrap_or(alone);
        r.signs.session = Some(words);
        r.parts.session = covered;
    }
}

fn session_of(memory: &Memory) -> Option<String> {
    match memory {
        Memory::Fact(m) => m.session.as_ref().map(|s| s.as_str().to_owned()),
        Memory::Step(m) => Some(m.trace_id.as_str().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
