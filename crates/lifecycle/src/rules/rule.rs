//! The rule that a group of runs becomes.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_text::{names, one_line};
use hindsight_types::{
    Decision, Environment, Evidence, EvidenceId, EvidenceOrigin, Experience, Exposure, Lesson, MemoryId,
    Stage, Step, TaskType, Timestamp, Verdict, limits,
};

use super::{
    MOST_RUNS, Outline, Reading, call,
    outline::{dead_ends, needed},
    path, rule_of,
    wording::{GOAL, Wording},
};
use crate::goal::generalised;

/// Most steps that a rule tells: the last.
const MOST_STEPS: usize = 8;
/// Most rejected alternatives.
const REJECTED: usize = 4;
/// In so many runs a change must have led nowhere to be rejected.
const SEVERAL: usize = 2;

/// A rule and what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Condensed {
    /// In stage `Candidate`.
    pub lesson: Lesson,
    /// One line for each run.
    pub evidence: Vec<Evidence>,
}

/// The ids that the rule of these runs may have, by their goals.
pub fn possible(runs: &[Experience], reading: &Reading) -> BTreeSet<MemoryId> {
    runs.iter().map(|run| Outline::of(run, reading).rule()).collect()
}

/// Makes a rule of a group of runs. `lessons`: which of [`possible`] there are. `None`: the runs do not make one,
/// or not any more.
pub fn condense(
    runs: &[Experience],
    lessons: &[Lesson],
    fewest: usize,
    reading: &Reading,
    now: Timestamp,
) -> Option<Condensed> {
    make(runs, lessons.iter().map(|l| (l.id, l.created_at)), fewest, reading, now)
}

/// Makes a rule anew of the runs that are left of it. Two do: it was worth a rule when it was made. Where none of them
/// has the goal by which it was named, it is another rule, of which there must be as many runs as of any.
pub fn rebuild(
    runs: &[Experience],
    rule: MemoryId,
    fewest: usize,
    reading: &Reading,
    now: Timestamp,
) -> Option<Condensed> {
    // A run that was judged again may have become another one.
    let mut alike: BTreeMap<_, Vec<Experience>> = BTreeMap::new();
    for run in runs {
        let outline = Outline::of(run, reading);
        let (_, visibility, task, outcome, changes) = outline.bucket();
        let key = (visibility, task.to_owned(), outcome, changes.to_vec());
        alike.entry(key).or_default().push(run.clone());
    }
    let most = alike.into_values().max_by_key(Vec::len)?;
    let condensed = make(&most, std::iter::once((rule, Timestamp::MIN)), 2, reading, now)?;
    (condensed.lesson.id == rule || condensed.evidence.len() >= fewest).then_some(condensed)
}

fn make(
    runs: &[Experience],
    existing: impl Iterator<Item = (MemoryId, Timestamp)>,
    fewest: usize,
    reading: &Reading,
    now: Timestamp,
) -> Option<Condensed> {
    let mut all: Vec<(Outline, &Experience)> =
        runs.iter().map(|run| (Outline::of(run, reading), run)).filter(|(o, _)| o.counts(now)).collect();
    all.sort_by(|(a, _), (b, _)| a.age().cmp(&b.age()));
    all.dedup_by(|(a, _), (b, _)| a.trace_id == b.trace_id);
    let all = all.split_off(all.len().saturating_sub(MOST_RUNS));
    let outlines: Vec<&Outline> = all.iter().map(|(outline, _)| outline).collect();
    let alike = outlines.windows(2).all(|pair| pair[0].bucket() == pair[1].bucket());
    if !alike || all.len() < fewest.max(2) || !path::is_worth_telling(&outlines) {
        return None;
    }
    let rule = rule_of(&outlines, existing)?;
    let (teller, told_by) = all.iter().rev().find(|(outline, _)| outline.rule() == rule)?;
    let experiences: Vec<&Experience> = all.iter().map(|(_, experience)| *experience).collect();
    let lesson = lesson(&experiences, &outlines, (*told_by, teller.key()), reading, now)?;
    let evidence = experiences.iter().map(|e| line(&lesson, e)).collect();
    Some(Condensed { lesson, evidence })
}

fn lesson(
    runs: &[&Experience],
    outlines: &[&Outline],
    (told_by, key): (&Experience, String),
    reading: &Reading,
    now: Timestamp,
) -> Option<Lesson> {
    let (t, outcome) = (&told_by.trajectory, told_by.evaluation.outcome);
    let wording = Wording::of(&t.task_description);
    let steps = common_steps(runs, outlines);
    let rejected = rejected(runs, &steps, reading);
    let steps = &steps[steps.len().saturating_sub(MOST_STEPS)..];
    let chosen = steps.join(wording.then());
    let goal = one_line(&generalised(&t.task_description), GOAL);
    let named = [goal.as_str(), &chosen, &rejected.join("\n")].join("\n");
    let (environment, tags) = environment(runs);
    let last = runs.last()?;
    Some(Lesson {
        id: MemoryId::lesson(&t.scope.tenant, &t.scope.visibility.keyword(), &key),
        scope: t.scope.clone(),
        key,
        advice: wording.advice(&goal, &chosen, &rejected),
        applicability: wording.applicability(&tags, t.task_type.as_ref().map(TaskType::as_str)),
        basis: Decision { chosen, rejected, rationale: wording.rationale(runs.len()) },
        result: wording.result(outcome, runs.len()),
        situation: goal,
        task_type: t.task_type.clone(),
        environment,
        entities: names(&named, limits::TAGS, limits::ID_BYTES),
        stage: Stage::Candidate,
        source_outcome: outcome,
        sources: runs.iter().map(|e| e.trajectory.trace_id.clone()).collect(),
        supported: 0,
        refuted: 0,
        created_at: now,
        last_supported_at: last.trajectory.ended_at,
        revision: None,
    })
}

/// What all runs did, in order; of a row of the same, one.
fn common_steps(runs: &[&Experience], outlines: &[&Outline]) -> Vec<String> {
    let steps: Vec<Vec<&Step>> = runs.iter().map(|run| needed(run)).collect();
    let paths: Vec<&[String]> = outlines.iter().map(|outline| outline.path.as_slice()).collect();
    let told = path::common(&paths).into_iter().map(|places| {
        let same: Vec<&Step> = places.iter().zip(&steps).map(|(at, steps)| steps[*at]).collect();
        call::told(&same)
    });
    let mut told: Vec<String> = told.collect();
    told.dedup();
    told
}

/// Changes that led nowhere in several runs, those of most runs first. What is left open stands for anything, so
/// a call that all of them needed is no dead end because some made it in vain as well.
fn rejected(runs: &[&Experience], chosen: &[String], reading: &Reading) -> Vec<String> {
    let mut by_purpose: BTreeMap<String, Vec<&Step>> = BTreeMap::new();
    for run in runs {
        let mut seen = BTreeSet::new();
        for step in dead_ends(run, reading) {
            let purpose = (reading.purpose)(step);
            if seen.insert(purpose.clone()) {
                by_purpose.entry(purpose).or_default().push(step);
            }
        }
    }
    let needed: BTreeSet<String> =
        runs.iter().flat_map(|run| self::needed(run)).map(|step| (reading.purpose)(step)).collect();
    let open = |call: &str| call.contains(['<', '…']);
    let mut told: Vec<(usize, String)> = Vec::new();
    for (purpose, steps) in by_purpose.into_iter().filter(|(_, steps)| steps.len() >= SEVERAL) {
        let call = call::told(&steps);
        let in_vain = !needed.contains(&purpose) || !open(&call);
        if in_vain && !call.is_empty() && !chosen.contains(&call) {
            told.push((steps.len(), call));
        }
    }
    told.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    told.into_iter().take(REJECTED).map(|(_, call)| call).collect()
}

/// Wherever it was done, and in how many runs. Of what else is known of places, what all have alike.
fn environment(runs: &[&Experience]) -> (Environment, Vec<(String, usize)>) {
    let places: Vec<&Environment> = runs.iter().map(|run| &run.trajectory.environment).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for place in &places {
        for tag in place.tags.iter().map(String::as_str).collect::<BTreeSet<_>>() {
            *counts.entry(tag).or_default() += 1;
        }
    }
    let mut tags: Vec<(String, usize)> = counts.into_iter().map(|(tag, n)| (tag.to_owned(), n)).collect();
    tags.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    tags.truncate(limits::TAGS);
    let mut attributes = places.first().map(|place| place.attributes.clone()).unwrap_or_default();
    attributes.retain(|key, value| places.iter().all(|place| place.attributes.get(key) == Some(value)));
    (Environment { tags: tags.iter().map(|(tag, _)| tag.clone()).collect(), attributes }, tags)
}

/// The run did on its own what the rule advises.
fn line(rule: &Lesson, run: &Experience) -> Evidence {
    let t = &run.trajectory;
    Evidence {
        id: EvidenceId::of(rule.id, &rule.scope.tenant, &t.trace_id),
        memory_id: rule.id,
        scope: rule.scope.clone(),
        trace_id: t.trace_id.clone(),
        verdict: Verdict::Supported,
        exposure: Exposure::Observed,
        origin: EvidenceOrigin::Observed,
        outcome: run.evaluation.outcome,
        outcome_from: None,
        steps: u32::try_from(t.steps.len()).unwrap_or(u32::MAX),
        tokens: 0,
        at: t.ended_at,
    }
}
