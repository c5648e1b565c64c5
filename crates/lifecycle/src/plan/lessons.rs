//! Lessons whose stage is not the one that their evidence says: evidence was taken back, a hold-out ran out, or the
//! worker that had it changed died.

use std::collections::BTreeMap;

use hindsight_ports::{Ledger, StoreError};
use hindsight_types::{EvidencePolicy, Lesson, MemoryId, Stage, TenantId, Work};

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
}

/// Lessons that are to change their stage.
pub fn plan(lessons: &[Staged]) -> Vec<Planned> {
    let moves: BTreeMap<MemoryId, &Staged> =
        lessons.iter().filter(|l| l.has != l.due).map(|l| (l.lesson, l)).collect();
    let moves: Vec<&Staged> = moves.into_values().collect();
    moves.chunks(LESSONS).map(planned).collect()
}

fn planned(moves: &[&Staged]) -> Planned {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for l in moves {
        *counts.entry((place(l.has), place(l.due))).or_default() += 1;
    }
    let words = counts.iter().map(|((from, to), n)| format!("{n} {} → {}", NAMES[*from], NAMES[*to]));
    let why = format!("by their evidence: {}", words.collect::<Vec<_>>().join(", "));
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
    let mut rows = Vec::with_capacity(lessons.len());
    for lesson in lessons {
        let (lines, reviews) = ledger.ledger(tenant, lesson.id).await?;
        let due = stage::of_lesson(lesson, &lines, &reviews, policy).stage;
        rows.push(Staged { lesson: lesson.id, has: lesson.stage, due });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
