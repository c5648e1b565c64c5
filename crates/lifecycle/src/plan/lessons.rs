//! Lessons whose stage is not the one that their evidence says: evidence was taken back, a hold-out ran out, or the
//! worker that had it changed died. And candidates that several runs taught of which none says so: they were learned
//! apart, as of two ids that turned out to be one user, or at the same time.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::{Ledger, StoreError};
use hindsight_types::{Evidence, EvidencePolicy, Lesson, MemoryId, Stage, TenantId, TraceId, Work};

use super::Planned;
use crate::stage;

/// Most lessons in one task.
const LESSONS: usize = 20;

/// A lesson with the stage it has and the one that it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    pub lesson: MemoryId,
    pub has: Stage,
    pub due: Stage,
    /// It waits for confirmation, and runs that taught it as well have no line in its ledger.
    pub unheard: bool,
}

impl Staged {
    fn moves(&self) -> bool {
        self.has != self.due
    }
}

/// Lessons that are to change their stage, or may be.
pub fn plan(lessons: &[Staged]) -> Vec<Planned> {
    let moves: BTreeMap<MemoryId, &Staged> =
        lessons.iter().filter(|l| l.moves() || l.unheard).map(|l| (l.lesson, l)).collect();
    let moves: Vec<&Staged> = moves.into_values().collect();
    moves.chunks(LESSONS).map(planned).collect()
}

fn planned(moves: &[&Staged]) -> Planned {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for l in moves.iter().filter(|l| l.moves()) {
        *counts.entry((place(l.has), place(l.due))).or_default() += 1;
    }
    let words = counts.iter().map(|((from, to), n)| format!("{n} {} → {}", NAMES[*from], NAMES[*to]));
    let mut words: Vec<String> = words.collect();
    match moves.iter().filter(|l| !l.moves()).count() {
        0 => {}
        n => words.push(format!("{n} taught by runs that are not heard yet")),
    }
    let why = format!("by their evidence: {}", words.join(", "));
    Planned::new(Work::Restage { lessons: moves.iter().map(|l| l.lesson).collect() }, why)
}

const NAMES: [&str; 4] = ["candidate", "canary", "active", "retired"];

fn place(stage: Stage) -> usize {
    match stage {
        Stage::Candidate => 0,
        Stage::Canary => 1,
        Stage::Active => 2,
        Stage::Retired => 3,
    }
}

/// What has to be known of these lessons.
pub async fn rows(
    ledger: &dyn Ledger,
    tenant: &TenantId,
    lessons: &[Lesson],
    policy: &EvidencePolicy,
) -> Result<Vec<Staged>, StoreError> {
    let ids: Vec<MemoryId> = lessons.iter().map(|lesson| lesson.id).collect();
    let mut said = ledger.ledgers(tenant, &ids).await?;
    let row = |lesson: &Lesson| {
        let (lines, reviews) = said.remove(&lesson.id).unwrap_or_default();
        let due = stage::of_lesson(lesson, &lines, &reviews, policy).stage;
        let unheard = due == Stage::Candidate && silent(lesson, &lines).count() > 1;
        Staged { lesson: lesson.id, has: lesson.stage, due, unheard }
    };
    Ok(lessons.iter().map(row).collect())
}

/// Runs that taught a lesson and have no line in its ledger. One is the first, which knew of no lesson; each other
/// one confirms it if it ended well, whatever the order in which they came together.
pub fn silent<'a>(lesson: &'a Lesson, lines: &[Evidence]) -> impl Iterator<Item = &'a TraceId> {
    let spoke: BTreeSet<&TraceId> = lines.iter().map(|line| &line.trace_id).collect();
    let silent: Vec<&TraceId> = lesson.sources.iter().filter(|source| !spoke.contains(source)).collect();
    silent.into_iter()
}

#[cfg(test)]
mod tests;
