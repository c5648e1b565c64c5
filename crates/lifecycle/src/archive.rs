//! What has faded and was not read leaves for the archive, from where it can be brought back.
//!
//! Rare and important knowledge does not fade: of what was asked for, however long ago, the latest runs that are
//! worth showing stay, with their steps. So a task of once a month or once a year is still known, and since runs
//! with one goal share these places, what stays is bounded by how many different things were asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use hindsight_types::{
    Archived, EvidenceSource, Experience, Memory, MemoryId, MemoryKind, OutcomeStatus, Stage, StepLabel,
    TaskType, Timestamp, TraceId, Work,
};

use crate::{goal::Goal, plan::Planned};

/// Most memories in one task.
pub const MOST: usize = 100;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// Days for which every run is searched.
const SURPLUS_AFTER: f64 = 7.0;

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
    /// Runs with one goal and one kind of end that are searched, at most: the latest. Others leave after a week.
    pub served_per_goal: usize,
    /// What has been in the archive for so long is deleted.
    pub keep: Duration,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self {
            faded: 0.05,
            success_half_life: 30.0,
            failure_half_life: 180.0,
            kept_per_goal: 2,
            kept: 5_000,
            served_per_goal: 20,
            keep: Duration::from_secs(180 * 24 * 60 * 60),
        }
    }
}

/// What all runs of a tenant together tell of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// What never leaves.
    pub memories: BTreeSet<MemoryId>,
    /// Runs that never leave, with all that is theirs.
    pub traces: BTreeSet<TraceId>,
    /// Runs of which there are enough later ones.
    pub surplus: BTreeSet<TraceId>,
}

/// Why memories leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Faded,
    /// There are enough later runs like theirs.
    Surplus,
}

/// Memories of one kind that are to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub kind: MemoryKind,
    pub memories: Vec<MemoryId>,
    pub cause: Cause,
    pub why: String,
}

impl From<Leaving> for Planned {
    fn from(Leaving { kind, memories, cause, why }: Leaving) -> Self {
        Self::new(Work::Archive { kind, memories, surplus: cause == Cause::Surplus }, why)
    }
}

/// What a run is by which it is told whether it stays.
#[derive(Debug, Clone)]
struct Known {
    id: MemoryId,
    trace: TraceId,
    /// `None`: it is not worth showing.
    importance: Option<u8>,
    reached: bool,
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
        let task = t.task_type.as_ref().map_or("", TaskType::as_str);
        let goal = [&t.scope.visibility.keyword(), task, &Goal::of(&t.task_description).key()].join("\u{1d}");
        let known = Known {
            id: experience.id,
            trace: t.trace_id.clone(),
            importance: importance(experience),
            reached: reached(experience),
            ended_at: t.ended_at,
        };
        self.by_goal.entry(goal).or_default().push(known);
    }

    /// `restored`: what somebody brought back from the archive.
    pub fn places(
        mut self,
        restored: &BTreeSet<MemoryId>,
        settings: &ArchiveSettings,
        now: Timestamp,
    ) -> Places {
        self.by_goal.values_mut().for_each(|runs| runs.sort_by(|a, b| order(b).cmp(&order(a))));
        let surplus = self.by_goal.values().flat_map(|runs| surplus(runs, settings, now)).collect();
        let best = |runs: Vec<Known>| {
            let worth = runs.into_iter().filter_map(|run| run.importance.map(|importance| (importance, run)));
            worth.take(settings.kept_per_goal)
        };
        let mut kept: Vec<(u8, Known)> = self.by_goal.into_values().flat_map(best).collect();
        kept.sort_by(|(a, one), (b, other)| (b, order(other)).cmp(&(a, order(one))));
        kept.truncate(settings.kept);
        let traces = kept.iter().map(|(_, run)| run.trace.clone()).collect();
        let memories = kept.iter().map(|(_, run)| run.id).chain(restored.iter().copied()).collect();
        Places { memories, traces, surplus }
    }
}

/// Of runs with one goal, the latest first, those of which there are enough later ones with the same kind of end.
fn surplus(runs: &[Known], settings: &ArchiveSettings, now: Timestamp) -> Vec<TraceId> {
    let ended_so = |reached| runs.iter().filter(move |run| run.reached == reached);
    let earlier = [true, false].into_iter().flat_map(|r| ended_so(r).skip(settings.served_per_goal));
    earlier.filter(|run| age(run.ended_at, now) >= SURPLUS_AFTER).map(|run| run.trace.clone()).collect()
}

/// Later is greater.
fn order(known: &Known) -> (Timestamp, &TraceId) {
    (known.ended_at, &known.trace)
}

fn reached(experience: &Experience) -> bool {
    matches!(experience.evaluation.outcome, OutcomeStatus::Success | OutcomeStatus::Partial)
}

/// In days.
fn age(since: Timestamp, now: Timestamp) -> f64 {
    now.as_second().saturating_sub(since.as_second()).max(0) as f64 / SECONDS_PER_DAY
}

/// How much would be lost with a run; `None`: it is not worth showing anyway. What was proven by a test or a user
/// counts more than what was claimed, and a way round a dead end more than a straight one.
fn importance(experience: &Experience) -> Option<u8> {
    let Experience { trajectory, evaluation, .. } = experience;
    if !evaluation.worth_reference || !reached(experience) || !evaluation.contradictions.is_empty() {
        return None;
    }
    let all = trajectory.outcome.evidence.iter().chain(&evaluation.outcome_evidence);
    let proven = all.filter(|e| e.verdict == evaluation.outcome).any(|e| {
        matches!(e.source, EvidenceSource::TestResult | EvidenceSource::ExitCode | EvidenceSource::User)
    });
    let dead_end = evaluation.count(StepLabel::Misleading) + evaluation.count(StepLabel::Failed) > 0;
    Some(u8::from(proven) + u8::from(dead_end))
}

/// What a memory still weighs: 0.5^(age / half-life), by when it was learned or last supported. `None`: its kind does not fade.
pub fn weight(memory: &Memory, settings: &ArchiveSettings, now: Timestamp) -> Option<f64> {
    let (since, outcome) = match memory {
        // A fact does not wear out, it is replaced.
        Memory::Fact(_) => return None,
        Memory::Lesson(m) => match m.stage {
            // It goes by its evidence, or by the person who put it into words.
            Stage::Active => return None,
            Stage::Candidate | Stage::Canary if m.revision.is_some() => return None,
            // Nothing proved it, and nothing confirmed it since.
            Stage::Candidate | Stage::Canary => {
                (m.last_supported_at.max(m.created_at), OutcomeStatus::Unknown)
            }
            Stage::Retired => (m.last_supported_at, m.source_outcome),
        },
        Memory::Experience(m) => (m.trajectory.ended_at, m.evaluation.outcome),
        Memory::FailurePattern(m) => (m.last_seen, OutcomeStatus::Failure),
        Memory::Step(m) => (m.recorded_at, m.outcome),
    };
    let days = match outcome {
        OutcomeStatus::Failure => settings.failure_half_life,
        _ => settings.success_half_life,
    };
    Some(0.5_f64.powf(age(since, now) / days.max(f64::EPSILON)))
}

/// The run that a memory leaves with when there are enough later ones.
pub fn run_of(memory: &Memory) -> Option<&TraceId> {
    match memory {
        Memory::Step(m) => Some(&m.trace_id),
        Memory::Experience(m) => Some(&m.trajectory.trace_id),
        _ => None,
    }
}

/// Why a memory is to leave; `None`: it stays. `reads`: how often it was given to somebody lately.
pub fn leaves(
    memory: &Memory,
    reads: u64,
    places: &Places,
    settings: &ArchiveSettings,
    now: Timestamp,
) -> Option<Cause> {
    let run = run_of(memory);
    let of_kept_run = match memory {
        // What fails in a run that is kept belongs to what it shows.
        Memory::FailurePattern(m) => m.sources.iter().any(|trace| places.traces.contains(trace)),
        _ => run.is_some_and(|run| places.traces.contains(run)),
    };
    if reads > 0 || of_kept_run || places.memories.contains(&memory.id()) {
        return None;
    }
    if weight(memory, settings, now).is_some_and(|weight| weight < settings.faded) {
        return Some(Cause::Faded);
    }
    run.is_some_and(|run| places.surplus.contains(run)).then_some(Cause::Surplus)
}

/// Memories of one tenant that are to leave, in tasks of one kind.
pub fn plan<'a>(
    memories: impl IntoIterator<Item = (&'a Memory, u64)>,
    places: &Places,
    settings: &ArchiveSettings,
    now: Timestamp,
) -> Vec<Leaving> {
    let mut alike: BTreeMap<(MemoryKind, Cause), BTreeSet<MemoryId>> = BTreeMap::new();
    for (memory, reads) in memories {
        if let Some(cause) = leaves(memory, reads, places, settings, now) {
            alike.entry((memory.kind(), cause)).or_default().insert(memory.id());
        }
    }
    let mut tasks = Vec::new();
    for ((kind, cause), ids) in alike {
        let ids: Vec<MemoryId> = ids.into_iter().collect();
        tasks.extend(ids.chunks(MOST).map(|ids| Leaving {
            kind,
            memories: ids.to_vec(),
            cause,
            why: format!("{} of {} {}", ids.len(), kind.as_str(), words(cause, settings)),
        }));
    }
    tasks
}

fn words(cause: Cause, settings: &ArchiveSettings) -> String {
    match cause {
        Cause::Faded => format!("have faded below {} and were not read", settings.faded),
        Cause::Surplus => {
            format!("are of runs with {} later ones like them and were not read", settings.served_per_goal)
        }
    }
}

/// What is to be deleted from the archive, of these that are there, in tasks of one kind.
pub fn expired<'a>(
    archived: impl IntoIterator<Item = &'a Archived>,
    settings: &ArchiveSettings,
    now: Timestamp,
) -> Vec<Planned> {
    let mut by_kind: BTreeMap<MemoryKind, BTreeSet<MemoryId>> = BTreeMap::new();
    for one in archived.into_iter().filter(|one| one.restored_at.is_none() && one.at + settings.keep <= now) {
        by_kind.entry(one.memory.kind()).or_default().insert(one.memory.id());
    }
    let mut tasks = Vec::new();
    for (kind, ids) in by_kind {
        let ids: Vec<MemoryId> = ids.into_iter().collect();
        tasks.extend(ids.chunks(MOST).map(|ids| {
            let why = format!("{} of {} were in the archive long enough", ids.len(), kind.as_str());
            Planned::new(Work::ExpireArchived { kind, memories: ids.to_vec() }, why)
        }));
    }
    tasks
}

#[cfg(test)]
mod tests;
