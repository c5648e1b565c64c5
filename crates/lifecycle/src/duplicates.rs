//! Memories that say the same become one. Whether they do is decided by what they say ([`crate::meaning`]), in one
//! scope, of the same things, in the same place; that texts or vectors are near decides nothing.
//!
//! Those that say the same are found in classes or, where a part may differ in words, around the strongest of
//! them, so the order in which they are looked at makes no difference.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use hindsight_text::entity_key;
use hindsight_types::{
    Fact, FactStatus, FactType, Lesson, MemoryId, MemoryKind, Scope, Stage, TaskType, Timestamp, Work,
};

use crate::{
    meaning::{Situation, advised, key, tags},
    plan::Planned,
};

/// Most memories that are merged into one at a time.
pub const MOST: usize = 20;

/// Memories that become part of one that says the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub scope: Scope,
    pub kind: MemoryKind,
    pub survivor: MemoryId,
    /// In the order of their ids.
    pub others: Vec<MemoryId>,
    pub why: String,
}

impl From<Merge> for Planned {
    fn from(m: Merge) -> Self {
        Self::new(Work::Merge { kind: m.kind, keep: m.survivor, duplicates: m.others }, m.why)
    }
}

/// Lessons to be merged. Retired ones stay as they are: what was refuted must not speak for what was not.
pub fn lessons(lessons: &[Lesson]) -> Vec<Merge> {
    let mut classes: BTreeMap<_, Vec<&Lesson>> = BTreeMap::new();
    for lesson in lessons.iter().filter(|l| l.stage != Stage::Retired) {
        classes.entry(class(lesson)).or_default().push(lesson);
    }
    let alike = classes.into_values().filter(|class| class.len() > 1);
    alike.flat_map(by_situation).collect()
}

/// Whether two lessons say the same.
pub fn same_lesson(a: &Lesson, b: &Lesson) -> bool {
    class(a) == class(b) && Situation::of(&a.situation).is_like(&Situation::of(&b.situation))
}

/// What must be exactly alike.
fn class(l: &Lesson) -> impl Ord + use<> {
    let place = (scope_key(&l.scope), l.task_type.as_ref().map(TaskType::to_string), tags(&l.environment));
    (place, advised(l), names(&l.entities), l.source_outcome as u8)
}

/// The strongest takes those that apply where it applies; then the strongest of the others, and so on.
fn by_situation(mut class: Vec<&Lesson>) -> Vec<Merge> {
    class.sort_by_key(|l| strength(l));
    class.dedup_by_key(|l| l.id);
    let mut left: Vec<(Situation, &Lesson)> =
        class.into_iter().map(|l| (Situation::of(&l.situation), l)).collect();
    let mut found = Vec::new();
    while let Some((situation, survivor)) = left.pop() {
        let (others, apart): (Vec<_>, Vec<_>) = left.into_iter().partition(|(s, _)| s.is_like(&situation));
        left = apart;
        let others = others.into_iter().map(|(_, l)| l.id).collect();
        found.extend(merges(&survivor.scope, MemoryKind::Lesson, survivor.id, others));
    }
    found
}

/// Greater is stronger: in the words of a person, if it is not retired; proven, then supported by more, then learned
/// from more, then older.
fn strength(l: &Lesson) -> impl Ord + use<> {
    let stage = match l.stage {
        Stage::Retired => 0,
        Stage::Candidate => 1,
        Stage::Canary => 2,
        Stage::Active => 3,
    };
    let evidence = i64::from(l.supported) - i64::from(l.refuted);
    let by_person = l.revision.is_some() && l.stage != Stage::Retired;
    (by_person, stage, evidence, l.sources.len(), Reverse(l.created_at), Reverse(l.id))
}

/// Looks through the facts of a tenant and finds those to be merged. Of each it keeps little, so that those of many
/// users fit in memory: which say the same is told by a hash, and looked at again before they are merged.
#[derive(Debug, Default)]
pub struct Facts {
    classes: BTreeMap<u64, Vec<(Order, Scope)>>,
}

/// In which facts were said.
type Order = (Timestamp, Timestamp, MemoryId);

impl Facts {
    pub fn see(&mut self, fact: &Fact, now: Timestamp) {
        if holds(fact, now) {
            let mut hasher = DefaultHasher::new();
            said(fact).hash(&mut hasher);
            let order = (fact.occurred_at, fact.retained_at, fact.id);
            self.classes.entry(hasher.finish()).or_default().push((order, fact.scope.clone()));
        }
    }

    /// The one said last stays.
    pub fn plan(self) -> Vec<Merge> {
        let merged = self.classes.into_values().filter(|class| class.len() > 1).flat_map(|mut class| {
            class.sort_by_key(|(order, _)| *order);
            class.dedup_by_key(|((.., id), _)| *id);
            let others = class.iter().rev().skip(1).map(|((.., id), _)| *id).collect();
            let survivor = class.last().map(|((.., id), scope)| (scope, *id));
            survivor.map(|(scope, id)| merges(scope, MemoryKind::Fact, id, others)).unwrap_or_default()
        });
        let mut merged: Vec<Merge> = merged.collect();
        merged.sort_by_key(|m| m.survivor);
        merged
    }
}

/// Whether two facts say the same.
pub fn same_fact(a: &Fact, b: &Fact, now: Timestamp) -> bool {
    holds(a, now) && holds(b, now) && said(a) == said(b)
}

fn holds(fact: &Fact, now: Timestamp) -> bool {
    fact.status == FactStatus::Open
        && fact.expires_at.is_none_or(|end| end > now)
        && fact.scope.user().is_some()
        && !key(&fact.content).is_empty()
}

/// What must be alike for two facts to be one. What somebody is or likes holds whenever it is said; anything else
/// that is said on two days was meant twice.
fn said(f: &Fact) -> impl Eq + Hash + use<> {
    let lasting = matches!(f.fact_type, FactType::Preference | FactType::Identity);
    let day = (!lasting).then(|| f.occurred_at.as_second().div_euclid(86_400));
    let attached: BTreeSet<&str> = f.attachments.iter().map(|a| a.uri.as_str()).collect();
    let attached = attached.into_iter().collect::<Vec<_>>().join("\n");
    let who = (scope_key(&f.scope), entity_key(&f.speaker));
    let what = (key(&f.content), key(&f.original), f.intent.to_lowercase(), f.fact_type.as_str());
    (who, what, names(&f.entities), day, f.expires_at, attached)
}

/// In pieces of [`MOST`].
fn merges(scope: &Scope, kind: MemoryKind, survivor: MemoryId, mut others: Vec<MemoryId>) -> Vec<Merge> {
    others.sort_unstable();
    let piece = |others: &[MemoryId]| Merge {
        scope: scope.clone(),
        kind,
        survivor,
        others: others.to_vec(),
        why: format!("{} say the same as it in other words", others.len()),
    };
    others.chunks(MOST).map(piece).collect()
}

fn names(entities: &[String]) -> BTreeSet<String> {
    entities.iter().map(|name| entity_key(name)).filter(|name| !name.is_empty()).collect()
}

fn scope_key(scope: &Scope) -> (String, String) {
    (scope.tenant.to_string(), scope.visibility.keyword())
}

#[cfg(test)]
mod tests;
