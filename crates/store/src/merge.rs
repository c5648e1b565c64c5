//! How a record that meets itself across runs becomes one: a join of a semilattice, so that the order in
//! which two evaluators write, and writing twice, make no difference.

use hindsight_types::{FailurePattern, Lesson, Memory, Stage, TraceId};

/// Most runs one record names.
pub(crate) const SOURCES: usize = 100;

/// `a` and `b` as one. `None`: they are not the same record of a kind that merges.
pub(crate) fn merge(a: &Memory, b: &Memory) -> Option<Memory> {
    if a.id() != b.id() || a.scope() != b.scope() {
        return None;
    }
    match (a, b) {
        (Memory::FailurePattern(a), Memory::FailurePattern(b)) => {
            Some(Memory::FailurePattern(failure_patterns(a, b)))
        }
        (Memory::Lesson(a), Memory::Lesson(b)) => Some(Memory::Lesson(lessons(a, b))),
        _ => None,
    }
}

/// The one seen last tells the story; the count made last counts.
fn failure_patterns(a: &FailurePattern, b: &FailurePattern) -> FailurePattern {
    fn told(p: &FailurePattern) -> impl Ord + '_ {
        let story = (&p.example, &p.action_detail, &p.cause, &p.suggestion);
        (p.last_seen, story, (&p.action_name, &p.signature), (&p.environment.tags, &p.environment.attributes))
    }
    let last = if told(a) >= told(b) { a } else { b };
    FailurePattern {
        sources: sources(&a.sources, &b.sources),
        supported: a.supported.max(b.supported),
        refuted: a.refuted.max(b.refuted),
        first_seen: a.first_seen.min(b.first_seen),
        last_seen: a.last_seen.max(b.last_seen),
        frequency: a.frequency.max(b.frequency),
        ..last.clone()
    }
}

/// The one changed last by hand tells the story, or else the one supported last. A stage only moves forward: learning a lesson again does not
/// make a promoted one a candidate, nor bring a retired one back.
fn lessons(a: &Lesson, b: &Lesson) -> Lesson {
    fn told(l: &Lesson) -> impl Ord + '_ {
        let story = (&l.situation, &l.advice, &l.applicability, &l.result);
        let basis = (&l.basis.chosen, &l.basis.rejected, &l.basis.rationale);
        let place = (&l.task_type, &l.environment.tags, &l.environment.attributes, &l.entities);
        (&l.revision, l.last_supported_at, story, basis, place, l.source_outcome as u8)
    }
    let last = if told(a) >= told(b) { a } else { b };
    Lesson {
        stage: if rank(a.stage) >= rank(b.stage) { a.stage } else { b.stage },
        sources: sources(&a.sources, &b.sources),
        supported: a.supported.max(b.supported),
        refuted: a.refuted.max(b.refuted),
        created_at: a.created_at.min(b.created_at),
        last_supported_at: a.last_supported_at.max(b.last_supported_at),
        key: a.key.clone().max(b.key.clone()),
        ..last.clone()
    }
}

fn rank(stage: Stage) -> u8 {
    match stage {
        Stage::Candidate => 0,
        Stage::Canary => 1,
        Stage::Active => 2,
        Stage::Retired => 3,
    }
}

/// The union; of too many, the greatest ids, which are the newest where ids sort by time. A source carries
/// no time of its own, and any other choice would depend on the order of writing.
fn sources(a: &[TraceId], b: &[TraceId]) -> Vec<TraceId> {
    let mut all: Vec<TraceId> = a.iter().chain(b).cloned().collect();
    all.sort_unstable();
    all.dedup();
    all.split_off(all.len().saturating_sub(SOURCES))
}

#[cfg(test)]
mod tests;
