//! What may not be served at all: too far, ended, replaced, retired.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_types::{FactStatus, Memory, MemoryId, Stage, Timestamp, Withheld, WithheldReason};

use super::{Candidate, best_first, withhold};
use crate::{Request, Settings, conflict::contradict, factors::supported_at};

pub(super) type Replaced = BTreeMap<MemoryId, Vec<Candidate>>;

/// What is left to choose from, and what it replaces.
pub(super) struct Sifted {
    /// Best first.
    pub(super) eligible: Vec<Candidate>,
    /// By the newer memory, each older one that it replaces, itself or through others.
    pub(super) replaced: Replaced,
}

/// `candidates`: best first.
pub(super) fn sift(
    candidates: Vec<Candidate>,
    request: &Request<'_>,
    settings: &Settings,
    withheld: &mut Vec<Withheld>,
) -> Sifted {
    let relevant = relevant_kinds(&candidates, settings);
    let bar = |c: &Candidate| {
        barred(c, request.now, settings)
            .or_else(|| too_far(c, &relevant, settings))
            .or_else(|| said(c, request))
    };
    let bars: Vec<_> = candidates.iter().map(bar).collect();
    let newer = newest_statements(&candidates, &bars, settings);
    let (candidates, bars) = lifted(candidates, bars, &newer);
    let mut sifted = Sifted { eligible: Vec::new(), replaced: BTreeMap::new() };
    for (candidate, bar) in candidates.into_iter().zip(bars) {
        let instead = newer.get(&candidate.memory.id()).copied();
        match (bar, instead) {
            (Some(reason), _) => withheld.push(withhold(&candidate, reason, None)),
            (None, Some(newer)) => {
                withheld.push(withhold(&candidate, WithheldReason::Superseded, Some(newer)));
                sifted.replaced.entry(newer).or_default().push(candidate);
            }
            (None, None) => sifted.eligible.push(candidate),
        }
    }
    sifted
}

/// For each memory that another one replaces: the statement that holds now. A newer statement replaces an older
/// one even when only the older one is near the query.
fn newest_statements(
    candidates: &[Candidate],
    bars: &[Option<WithheldReason>],
    settings: &Settings,
) -> BTreeMap<MemoryId, MemoryId> {
    let valid: Vec<&Candidate> = candidates
        .iter()
        .zip(bars)
        .filter(|(_, bar)| {
            matches!(bar, None | Some(WithheldReason::BelowFloor | WithheldReason::SaidBefore))
        })
        .map(|(candidate, _)| candidate)
        .collect();
    let mut newer = BTreeMap::new();
    for older in &valid {
        let replacing = valid.iter().filter(|other| replaces(other, older, settings));
        if let Some(newest) = replacing.max_by_key(|c| age_order(c)) {
            newer.insert(older.memory.id(), newest.memory.id());
        }
    }
    // Newer statements may be replaced in turn; every step goes to a newer one, so this ends.
    let holds = |mut id: MemoryId| {
        while let Some(next) = newer.get(&id) {
            id = *next;
        }
        id
    };
    newer.iter().map(|(older, newer)| (*older, holds(*newer))).collect()
}

/// What holds now answers whatever it replaces, in other words perhaps: it is as near as the nearest of those, and
/// is served in their place.
fn lifted(
    candidates: Vec<Candidate>,
    bars: Vec<Option<WithheldReason>>,
    newer: &BTreeMap<MemoryId, MemoryId>,
) -> (Vec<Candidate>, Vec<Option<WithheldReason>>) {
    let mut inherited: BTreeMap<MemoryId, f32> = BTreeMap::new();
    for (older, _) in candidates.iter().zip(&bars).filter(|(_, bar)| bar.is_none()) {
        if let Some(newest) = newer.get(&older.memory.id()) {
            let nearest = inherited.entry(*newest).or_default();
            *nearest = nearest.max(older.factors.similarity);
        }
    }
    let lift = |(mut candidate, bar): (Candidate, Option<WithheldReason>)| {
        let Some(nearest) = inherited.get(&candidate.memory.id()) else { return (candidate, bar) };
        candidate.factors.similarity = candidate.factors.similarity.max(*nearest);
        (candidate, bar.filter(|reason| *reason != WithheldReason::BelowFloor))
    };
    let mut lifted: Vec<_> = candidates.into_iter().zip(bars).map(lift).collect();
    lifted.sort_by(|a, b| best_first(&a.0, &b.0));
    lifted.into_iter().unzip()
}

pub(super) fn age_order(candidate: &Candidate) -> (Timestamp, MemoryId) {
    (supported_at(&candidate.memory), candidate.memory.id())
}

/// Newer wins; an unproven lesson never replaces a proven one.
fn replaces(newer: &Candidate, older: &Candidate, settings: &Settings) -> bool {
    let unproven = |c: &Candidate| lesson_stage(&c.memory, settings) == Some(Stage::Candidate);
    newer.memory.kind() == older.memory.kind()
        && age_order(newer) > age_order(older)
        && (!unproven(newer) || unproven(older))
        && contradict(newer.pair(), older.pair())
}

/// Kinds whose best candidate is near enough.
fn relevant_kinds(candidates: &[Candidate], settings: &Settings) -> BTreeSet<&'static str> {
    let near = |c: &&Candidate| c.factors.similarity >= settings.floor;
    candidates.iter().filter(near).map(|c| c.memory.kind().as_str()).collect()
}

fn too_far(
    candidate: &Candidate,
    relevant: &BTreeSet<&'static str>,
    settings: &Settings,
) -> Option<WithheldReason> {
    // A floor of zero still asks for something in common.
    let similarity = candidate.factors.similarity;
    let near = similarity >= settings.tail_floor && similarity > 0.0;
    let kind_is_relevant = relevant.contains(candidate.memory.kind().as_str());
    (!near || !kind_is_relevant).then_some(WithheldReason::BelowFloor)
}

/// What may not be served however near it is.
fn barred(candidate: &Candidate, now: Timestamp, settings: &Settings) -> Option<WithheldReason> {
    if let Memory::Fact(fact) = &candidate.memory {
        if fact.expires_at.is_some_and(|end| end <= now) {
            return Some(WithheldReason::Expired);
        }
        if fact.status == FactStatus::Obsolete {
            return Some(WithheldReason::Superseded);
        }
    }
    (lesson_stage(&candidate.memory, settings) == Some(Stage::Retired)).then_some(WithheldReason::Stage)
}

fn said(candidate: &Candidate, request: &Request<'_>) -> Option<WithheldReason> {
    request.said?.by(&candidate.memory).map(|_| WithheldReason::SaidBefore)
}

/// As what a lesson is served.
pub(super) fn lesson_stage(memory: &Memory, settings: &Settings) -> Option<Stage> {
    match memory {
        Memory::Lesson(lesson) => Some(settings.serving.stage(lesson)),
        _ => None,
    }
}
