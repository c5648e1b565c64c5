//! What has faded and was not read leaves for the archive, from where it can be brought back.
//!
//! Rare and important knowledge does not fade: of what was asked for, however long ago, the latest runs that are
//! worth showing stay, with their steps. So a task of once a month or once a year is still known, and since runs
//! with one goal share these places, what stays is bounded by how many different things were asked for.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_types::{
    EvidenceSource, Experience, Memory, MemoryId, MemoryKind, OutcomeStatus, Stage, StepLabel, TaskType,
    Timestamp, TraceId, Work,
};

use crate::{goal::Goal, plan::Planned};

/// Most memories in one task.
pub const MOST: usize = 100;
const SECONDS_PER_DAY: f64 = 86_400.0;

#[derive(Debug, Clone, PartialEq)]
pub struct ArchiveSettings {
    /// What has faded below this leaves: 0.5 at one half-life, 0.25 at two. 0 to 1.
    pub faded: f64,
    /// Days after which a success, or a run of unknown outcome, counts half.
    pub success_half_life: f64,
    /// Days after which a failure counts half.
    pub failure_half_life: f64,
    /// Runs with one goal that never leave: the latest that are worth showing.
    pub kept_per_goal: usize,
    /// Runs of a tenant that never leave, at most: the most important, then the latest.
    pub kept: usize,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self { faded: 0.05, success_half_life: 30.0, failure_half_life: 180.0, kept_per_goal: 2, kept: 5_000 }
    }
}

/// What never leaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protected {
    pub memories: BTreeSet<MemoryId>,
    /// Runs, with all that is theirs.
    pub traces: BTreeSet<TraceId>,
}

/// Memories of one kind that are to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub kind: MemoryKind,
    pub memories: Vec<MemoryId>,
    pub why: String,
}

impl From<Leaving> for Planned {
    fn from(leaving: Leaving) -> Self {
        Self::new(Work::Archive { kind: leaving.kind, memories: leaving.memories }, leaving.why)
    }
}

/// What a run is by which it is told whether it stays.
#[derive(Debug, Clone)]
struct Known {
    id: MemoryId,
    trace: TraceId,
    importance: u8,
    ended_at: Timestamp,
}

/// Looks through the runs of a tenant and finds those to keep.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    by_goal: BTreeMap<String, Vec<Known>>,
}

impl Keeper {
    pub fn see(&mut self, experience: &Experience) {
        let t = &experience.trajectory;
        let Some(importance) = importance(experience) else { return };
        let task = t.task_type.as_ref().map_or("", TaskType::as_str);
        let goal = [&t.scope.visibility.keyword(), task, &Goal::of(&t.task_description).key()].join("\u{1d}");
        let known = Known { id: experience.id, trace: t.trace_id.clone(), importance, ended_at: t.ended_at };
        self.by_goal.entry(goal).or_default().push(known);
    }

    /// `restored`: what somebody brought back from the archive.
    pub fn protected(self, restored: &BTreeSet<MemoryId>, settings: &ArchiveSettings) -> Protected {
        let best = |mut runs: Vec<Known>| {
            runs.sort_by(|a, b| order(b).cmp(&order(a)));
            runs.truncate(settings.kept_per_goal);
            runs
        };
        let mut kept: Vec<Known> = self.by_goal.into_values().flat_map(best).collect();
        kept.sort_by(|a, b| (b.importance, order(b)).cmp(&(a.importance, order(a))));
        kept.truncate(settings.kept);
        let traces = kept.iter().map(|k| k.trace.clone()).collect();
        Protected { memories: kept.iter().map(|k| k.id).chain(restored.iter().copied()).collect(), traces }
    }
}

/// Later is greater.
fn order(known: &Known) -> (Timestamp, &TraceId) {
    (known.ended_at, &known.trace)
}

/// How much would be lost with a run; `None`: it is not worth showing anyway. What was proven by a test or a user
/// counts more than what was claimed, and a way round a dead end more than a straight one.
fn importance(experience: &Experience) -> Option<u8> {
    let Experience { trajectory, evaluation, .. } = experience;
    let reached = matches!(evaluation.outcome, OutcomeStatus::Success | OutcomeStatus::Partial);
    if !evaluation.worth_reference || !reached || !evaluation.contradictions.is_empty() {
        return None;
    }
    let all = trajectory.outcome.evidence.iter().chain(&evaluation.outcome_evidence);
    let proven = all.filter(|e| e.verdict == evaluation.outcome).any(|e| {
        matches!(e.source, EvidenceSource::TestResult | EvidenceSource::ExitCode | EvidenceSource::User)
    });
    let dead_end = evaluation.count(StepLabel::Misleading) + evaluation.count(StepLabel::Failed) > 0;
    Some(u8::from(proven) + u8::from(dead_end))
}

/// What a memory still weighs: 0.5^(age / half-life), by when it last was supported. `None`: its kind does not fade.
pub fn weight(memory: &Memory, settings: &ArchiveSettings, now: Timestamp) -> Option<f64> {
    let (since, outcome) = match memory {
        // A fact does not wear out, it is replaced. A lesson that is not retired goes by its evidence.
        Memory::Fact(_) => return None,
        Memory::Lesson(m) if m.stage != Stage::Retired => return None,
        Memory::Lesson(m) => (m.last_supported_at, m.source_outcome),
        Memory::Experience(m) => (m.trajectory.ended_at, m.evaluation.outcome),
        Memory::FailurePattern(m) => (m.last_seen, OutcomeStatus::Failure),
        Memory::Step(m) => (m.recorded_at, m.outcome),
    };
    let days = match outcome {
        OutcomeStatus::Failure => settings.failure_half_life,
        _ => settings.success_half_life,
    };
    let age = now.as_second().saturating_sub(since.as_second()).max(0) as f64 / SECONDS_PER_DAY;
    Some(0.5_f64.powf(age / days.max(f64::EPSILON)))
}

/// Whether a memory is to leave. `reads`: how often it was given to somebody lately.
pub fn leaves(
    memory: &Memory,
    reads: u64,
    protected: &Protected,
    settings: &ArchiveSettings,
    now: Timestamp,
) -> bool {
    let of_kept_run = match memory {
        Memory::Step(m) => protected.traces.contains(&m.trace_id),
        Memory::Experience(m) => protected.traces.contains(&m.trajectory.trace_id),
        // What fails in a run that is kept belongs to what it shows.
        Memory::FailurePattern(m) => m.sources.iter().any(|trace| protected.traces.contains(trace)),
        Memory::Fact(_) | Memory::Lesson(_) => false,
    };
    reads == 0
        && !of_kept_run
        && !protected.memories.contains(&memory.id())
        && weight(memory, settings, now).is_some_and(|weight| weight < settings.faded)
}

/// Memories of one tenant that are to leave, in tasks of one kind.
pub fn plan<'a>(
    memories: impl IntoIterator<Item = (&'a Memory, u64)>,
    protected: &Protected,
    settings: &ArchiveSettings,
    now: Timestamp,
) -> Vec<Leaving> {
    let mut by_kind: BTreeMap<MemoryKind, BTreeSet<MemoryId>> = BTreeMap::new();
    for (memory, reads) in memories {
        if leaves(memory, reads, protected, settings, now) {
            by_kind.entry(memory.kind()).or_default().insert(memory.id());
        }
    }
    let mut tasks = Vec::new();
    for (kind, ids) in by_kind {
        let ids: Vec<MemoryId> = ids.into_iter().collect();
        tasks.extend(ids.chunks(MOST).map(|ids| Leaving {
            kind,
            memories: ids.to_vec(),
            why: format!(
                "{} of {} have faded below {} and were not read",
                ids.len(),
                kind.as_str(),
                settings.faded
            ),
        }));
    }
    tasks
}

#[cfg(test)]
mod tests;
