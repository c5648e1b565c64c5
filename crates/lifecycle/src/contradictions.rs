//! Memories that cannot both hold. Of two statements of one user the one made later holds
//! ([`hindsight_text::Statement`]); what adds up (events, orders) and what only asks contradicts nothing. Of two
//! lessons that advise the opposite in one situation the one with clearly more and newer evidence holds; as long as
//! that is not clear both stand, and the weaker one is named as disputed. Nothing of one scope speaks about another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hindsight_text::{Stance, Statement, entity_key, token_set};
use hindsight_types::{
    Fact, FactStatus, FactType, Lesson, MemoryId, MemoryKind, Review, ReviewDecision, Scope, Stage, TaskType,
    Timestamp, Work,
};

use crate::{
    meaning::{Situation, advised, key, tags},
    plan::Planned,
};

/// Support that makes evidence clear, when it also outweighs that of the other lesson by so much.
const CLEAR_SUPPORT: u32 = 3;
const CLEAR_LEAD: f64 = 0.2;
/// A word that so many statements of one user hold tells none of them from another.
const COMMON_WORD: usize = 200;

/// One memory that takes the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superseded {
    pub scope: Scope,
    pub kind: MemoryKind,
    pub older: MemoryId,
    /// What holds in its place.
    pub newer: MemoryId,
    pub why: String,
}

/// What is replaced, by what replaces it.
pub fn planned(superseded: Vec<Superseded>) -> Vec<Planned> {
    let mut by_newer: BTreeMap<(MemoryKind, MemoryId), Vec<Superseded>> = BTreeMap::new();
    for one in superseded {
        by_newer.entry((one.kind, one.newer)).or_default().push(one);
    }
    let mut planned = Vec::new();
    for ((kind, newer), replaced) in by_newer {
        for some in replaced.chunks(Work::LARGEST) {
            let older = some.iter().map(|one| one.older).collect();
            let why: BTreeSet<&str> = some.iter().map(|one| one.why.as_str()).collect();
            let why = why.into_iter().take(3).collect::<Vec<_>>().join("; ");
            planned.push(Planned::new(Work::Supersede { kind, newer, older }, why));
        }
    }
    planned
}

/// What came of comparing lessons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opposed {
    pub superseded: Vec<Superseded>,
    /// Both stand; `older` is the one with less evidence.
    pub disputed: Vec<Superseded>,
}

/// Facts that a later statement of the same user replaces.
pub fn facts(facts: &[Fact], now: Timestamp) -> Vec<Superseded> {
    let mut by_speaker: BTreeMap<(String, String, String), Vec<Said<'_>>> = BTreeMap::new();
    for fact in facts.iter().filter(|f| holds(f, now)) {
        let user = (fact.scope.tenant.to_string(), fact.scope.visibility.keyword());
        by_speaker.entry((user.0, user.1, entity_key(&fact.speaker))).or_default().push(Said::of(fact));
    }
    by_speaker.into_values().flat_map(among).collect()
}

/// Whether `newer` replaces `older`.
pub fn replaces(newer: &Fact, older: &Fact, now: Timestamp) -> bool {
    newer.scope == older.scope
        && entity_key(&newer.speaker) == entity_key(&older.speaker)
        && holds(newer, now)
        && holds(older, now)
        && Said::of(newer).replaces(&Said::of(older))
}

fn holds(fact: &Fact, now: Timestamp) -> bool {
    fact.status == FactStatus::Open
        && fact.scope.user().is_some()
        && fact.expires_at.is_none_or(|end| end > now)
}

/// A fact with its words.
struct Said<'a> {
    fact: &'a Fact,
    tokens: BTreeSet<String>,
    names: BTreeSet<String>,
    stance: Stance,
}

impl<'a> Said<'a> {
    fn of(fact: &'a Fact) -> Self {
        let names = fact.entities.iter().map(|e| e.to_lowercase()).collect();
        Self { fact, tokens: token_set(&fact.content), names, stance: Stance::of(&fact.content) }
    }

    fn statement(&self) -> Statement<'_> {
        Statement {
            key: "",
            tokens: &self.tokens,
            stance: self.stance,
            intent: &self.fact.intent,
            entities: &self.fact.entities,
            adds_up: self.adds_up(),
        }
    }

    fn adds_up(&self) -> bool {
        matches!(self.fact.fact_type, FactType::Event | FactType::Order)
    }

    /// Said later, of what can hold only once, and differently.
    fn replaces(&self, older: &Self) -> bool {
        (self.fact.order(), self.fact.id) > (older.fact.order(), older.fact.id)
            && self.fact.occurred_at > older.fact.occurred_at
            && !self.adds_up()
            && !older.adds_up()
            && !self.stance.asks
            && !older.stance.asks
            && key(&self.fact.content) != key(&older.fact.content)
            && self.statement().contradicts(&older.statement())
    }
}

/// What one speaker said of or to one user.
fn among(mut said: Vec<Said<'_>>) -> Vec<Superseded> {
    said.sort_by(|a, b| (a.fact.order(), a.fact.id).cmp(&(b.fact.order(), b.fact.id)));
    said.dedup_by_key(|s| s.fact.id);
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    pairs.extend(of_one_subject(&said));
    pairs.extend(taken_back(&said));
    // Each goes to the last that replaces it.
    let mut by: BTreeMap<usize, usize> = BTreeMap::new();
    for (older, newer) in pairs {
        if said[newer].replaces(&said[older]) {
            by.insert(older, newer);
        }
    }
    // What replaces may be replaced in turn; every step goes to a later one, so this ends.
    let last = |mut at: usize| {
        while let Some(next) = by.get(&at) {
            at = *next;
        }
        at
    };
    let superseded = by.iter().map(|(older, newer)| {
        let (old, new) = (said[*older].fact, said[last(*newer)].fact);
        Superseded {
            scope: old.scope.clone(),
            kind: MemoryKind::Fact,
            older: old.id,
            newer: new.id,
            why: format!("said otherwise on {}", new.occurred_at.strftime("%Y-%m-%d")),
        }
    });
    superseded.collect()
}

/// Pairs, earlier first, that name the same.
fn of_one_subject(said: &[Said<'_>]) -> Vec<(usize, usize)> {
    let mut by_names: BTreeMap<&BTreeSet<String>, Vec<usize>> = BTreeMap::new();
    for (at, one) in said.iter().enumerate().filter(|(_, one)| !one.names.is_empty()) {
        by_names.entry(&one.names).or_default().push(at);
    }
    let latest = |same: Vec<usize>| same[same.len().saturating_sub(COMMON_WORD)..].to_vec();
    by_names
        .into_values()
        .map(latest)
        .flat_map(|same| {
            let pairs = |(n, newer): (usize, &usize)| {
                same[..n].iter().map(|older| (*older, *newer)).collect::<Vec<_>>()
            };
            same.iter().enumerate().flat_map(pairs).collect::<Vec<_>>()
        })
        .collect()
}

/// Pairs, earlier first, of which one may take the other back: it holds most of its words.
fn taken_back(said: &[Said<'_>]) -> Vec<(usize, usize)> {
    let mut holding: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, one) in said.iter().enumerate() {
        for token in &one.tokens {
            holding.entry(token).or_default().push(at);
        }
    }
    let mut pairs = Vec::new();
    for (at, one) in said.iter().enumerate().filter(|(_, s)| s.stance.changes || s.stance.denies) {
        let rare =
            one.tokens.iter().filter_map(|t| holding.get(t.as_str())).filter(|w| w.len() <= COMMON_WORD);
        let others: BTreeSet<usize> = rare.flatten().copied().filter(|other| *other != at).collect();
        pairs.extend(others.into_iter().map(|other| (other.min(at), other.max(at))));
    }
    pairs
}

/// Lessons that advise the opposite of each other.
pub fn lessons(lessons: &[Lesson]) -> Opposed {
    let mut places: BTreeMap<_, Vec<&Lesson>> = BTreeMap::new();
    for lesson in lessons.iter().filter(|l| l.stage != Stage::Retired) {
        places.entry(place(lesson)).or_default().push(lesson);
    }
    let mut opposed = Opposed::default();
    for mut lessons in places.into_values() {
        lessons.sort_by_key(|l| l.id);
        lessons.dedup_by_key(|l| l.id);
        compare(&lessons, &mut opposed);
    }
    opposed.superseded.sort_by_key(|s| (s.older, s.newer));
    opposed.superseded.dedup_by_key(|s| s.older);
    opposed
}

/// Whether `newer` advises the opposite of `older`, and its evidence is clear.
pub fn outweighs(newer: &Lesson, older: &Lesson) -> bool {
    place(newer) == place(older)
        && newer.stage != Stage::Retired
        && older.stage != Stage::Retired
        && Advice::of(newer).opposes(&Advice::of(older))
        && is_clear(newer, older)
}

/// Whether the last word of a person on a lesson is that it may serve: then no count takes it away.
pub fn is_approved(reviews: &[Review]) -> bool {
    let last = reviews.iter().max_by_key(|review| (review.at, review.id));
    last.is_some_and(|review| review.decision == ReviewDecision::Approved)
}

fn place(lesson: &Lesson) -> (String, String, Option<String>) {
    let Scope { tenant, visibility } = &lesson.scope;
    (tenant.to_string(), visibility.keyword(), lesson.task_type.as_ref().map(TaskType::to_string))
}

/// What a lesson advises and what it warns of.
struct Advice<'a> {
    lesson: &'a Lesson,
    situation: Situation,
    chosen: String,
    rejected: BTreeSet<String>,
    tags: BTreeSet<String>,
}

impl<'a> Advice<'a> {
    fn of(lesson: &'a Lesson) -> Self {
        let rejected = lesson.basis.rejected.iter().map(|r| key(r)).filter(|r| !r.is_empty()).collect();
        Self {
            lesson,
            situation: Situation::of(&lesson.situation),
            chosen: advised(lesson),
            rejected,
            tags: tags(&lesson.environment),
        }
    }

    /// One does what the other warns of, or says not to do it, in the same situation and in a place that both know.
    fn opposes(&self, other: &Self) -> bool {
        let turned =
            || is_denial_of(&self.chosen, &other.chosen) || is_denial_of(&other.chosen, &self.chosen);
        let apart = !self.tags.is_empty() && !other.tags.is_empty() && self.tags.is_disjoint(&other.tags);
        !self.chosen.is_empty()
            && !other.chosen.is_empty()
            && self.chosen != other.chosen
            && !apart
            && (other.rejected.contains(&self.chosen) || self.rejected.contains(&other.chosen) || turned())
            && self.situation.is_like(&other.situation)
    }
}

/// Whether a text, as [`key`] gives it, is the other one with a `not`.
fn is_denial_of(denial: &str, said: &str) -> bool {
    affirmed(denial) == Some(said)
}

/// What a text denies.
fn affirmed(denial: &str) -> Option<&str> {
    let nots = ["do not ", "never ", "not ", "不要", "不能", "别", "不"];
    nots.iter().find_map(|not| denial.strip_prefix(not)).map(str::trim_start)
}

/// Pairs of which one advises what the other warns of or denies: only such can oppose each other.
fn facing(advice: &[Advice<'_>]) -> BTreeSet<(usize, usize)> {
    let mut advising: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, one) in advice.iter().enumerate() {
        advising.entry(&one.chosen).or_default().push(at);
    }
    let mut pairs = BTreeSet::new();
    for (at, one) in advice.iter().enumerate() {
        let against = one.rejected.iter().map(String::as_str).chain(affirmed(&one.chosen));
        let others = against.filter_map(|call| advising.get(call)).flatten();
        pairs.extend(others.filter(|other| **other != at).map(|other| (at.min(*other), at.max(*other))));
    }
    pairs
}

fn compare(lessons: &[&Lesson], opposed: &mut Opposed) {
    let advice: Vec<Advice<'_>> = lessons.iter().map(|l| Advice::of(l)).collect();
    let facing = facing(&advice).into_iter().map(|(a, b)| (&advice[a], &advice[b]));
    for (a, b) in facing.filter(|(a, b)| a.opposes(b)) {
        let (a, b) = (a.lesson, b.lesson);
        let (weaker, stronger) = if weight(a) <= weight(b) { (a, b) } else { (b, a) };
        let is_clear = is_clear(stronger, weaker);
        let pair = Superseded {
            scope: weaker.scope.clone(),
            kind: MemoryKind::Lesson,
            older: weaker.id,
            newer: stronger.id,
            why: format!(
                "advises the opposite in the same situation: {} support and {} refute it, {} and {} the other",
                weaker.supported, weaker.refuted, stronger.supported, stronger.refuted
            ),
        };
        if is_clear { &mut opposed.superseded } else { &mut opposed.disputed }.push(pair);
    }
}

/// The order of lessons by their evidence; equal ones by which was supported last.
fn weight(l: &Lesson) -> (u64, Timestamp, MemoryId) {
    // Exact in integers, so that the order is total.
    ((reliability(l) * 1e9) as u64, l.last_supported_at, l.id)
}

/// As recall weighs it: (1 + supported) / (2 + supported + refuted).
fn reliability(l: &Lesson) -> f64 {
    let (supported, refuted) = (f64::from(l.supported), f64::from(l.refuted));
    (1.0 + supported) / (2.0 + supported + refuted)
}

fn is_clear(stronger: &Lesson, weaker: &Lesson) -> bool {
    stronger.supported >= CLEAR_SUPPORT
        && stronger.last_supported_at > weaker.last_supported_at
        && reliability(stronger) - reliability(weaker) >= CLEAR_LEAD
}

#[cfg(test)]
mod tests;
