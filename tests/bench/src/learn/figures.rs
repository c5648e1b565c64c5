//! What the lives show, each figure with an interval over the worlds.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde::Serialize;

use super::{Done, Kind, Life, Lives};

/// Resamples of the worlds for one interval.
const RESAMPLES: usize = 1_000;
/// Tasks in a window that slides over a life.
pub(super) const WINDOW: usize = 10;
/// How near to its former level success counts as recovered.
const NEAR: f64 = 0.03;

/// A value with its 95 % interval: percentiles of a bootstrap over worlds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Figure {
    pub(super) figure: &'static str,
    pub(super) unit: &'static str,
    /// What users of such systems report.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) reported: &'static str,
    /// Per memory, in the order in which they were asked for; none where it cannot be told.
    pub(super) of: Vec<(&'static str, Option<Estimate>)>,
}

/// The same worlds with the memory that is looked at and with none.
struct Pair<'a> {
    with: Vec<&'a Life>,
    without: Option<Vec<&'a Life>>,
}

type Measure = fn(&Pair<'_>) -> Option<f64>;

const FIGURES: [(&str, &str, &str, Measure); 11] = [
    ("success, first quarter", "%", "55", |p| percent(&p.with, 0, 1, |t| t.solved)),
    ("success, second quarter", "%", "", |p| percent(&p.with, 1, 2, |t| t.solved)),
    ("success, last quarter", "%", "", |p| percent(&p.with, 3, 4, |t| t.solved)),
    ("success, after the first quarter", "%", "82", |p| percent(&p.with, 1, 4, |t| t.solved)),
    ("calls per task, first quarter", "", "12", |p| mean(&p.with, 0, 1, calls)),
    ("calls per task, second quarter", "", "", |p| mean(&p.with, 1, 2, calls)),
    ("calls per task, after the first quarter", "", "8", |p| mean(&p.with, 1, 4, calls)),
    ("calls saved on repeated tasks", "%", "40", saved),
    ("success, ten tasks after the drift", "%", "", |p| {
        average(p.after_drift(0, WINDOW).map(|t| hundred(t.solved)))
    }),
    ("tasks to recover after the drift", "", "", recovery),
    ("tasks lost to the poisoned run", "per world", "", |p| {
        let harmed = p.with.iter().map(|life| life.iter().filter(|t| t.harmed).count() as f64);
        average(harmed)
    }),
];

/// All figures of all memories.
pub(super) fn of(all: &[Lives]) -> Vec<Figure> {
    let without = all.iter().find(|lives| lives.kind == Kind::None);
    let one = |(figure, unit, reported, measure): &(&'static str, &'static str, &'static str, Measure)| {
        let of = all.iter().map(|lives| (lives.kind.name(), estimate(lives, without, *measure))).collect();
        Figure { figure, unit, reported, of }
    };
    FIGURES.iter().map(one).collect()
}

fn estimate(lives: &Lives, without: Option<&Lives>, measure: Measure) -> Option<Estimate> {
    let at = |seeds: &[usize]| {
        measure(&Pair { with: pick(lives, seeds), without: without.map(|lives| pick(lives, seeds)) })
    };
    let all: Vec<usize> = (0..lives.seeds.len()).collect();
    let value = at(&all)?;
    let mut rng = StdRng::seed_from_u64(1);
    let mut values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn: Vec<usize> = all.iter().map(|_| rng.random_range(0..all.len())).collect();
            at(&drawn)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let rank = |share: f64| values.get((share * (values.len() as f64 - 1.0)).round() as usize).copied();
    Some(Estimate { value, low: rank(0.025)?, high: rank(0.975)? })
}

fn pick<'a>(lives: &'a Lives, seeds: &[usize]) -> Vec<&'a Life> {
    seeds.iter().map(|seed| &lives.seeds[*seed]).collect()
}

/// The tasks from one quarter of each life to another.
fn quarters<'a>(lives: &'a [&'a Life], from: usize, to: usize) -> impl Iterator<Item = &'a Done> {
    lives.iter().flat_map(move |life| &life[life.len() * from / 4..life.len() * to / 4])
}

fn mean(lives: &[&Life], from: usize, to: usize, of: fn(&Done) -> f64) -> Option<f64> {
    average(quarters(lives, from, to).map(of))
}

fn percent(lives: &[&Life], from: usize, to: usize, of: fn(&Done) -> bool) -> Option<f64> {
    average(quarters(lives, from, to).map(|task| hundred(of(task))))
}

fn calls(task: &Done) -> f64 {
    task.calls as f64
}

fn hundred(yes: bool) -> f64 {
    if yes { 100.0 } else { 0.0 }
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Calls that tasks of a kind that was met before took less than the same tasks without memory.
fn saved(pair: &Pair<'_>) -> Option<f64> {
    let repeated = |lives: &[&Life]| {
        average(lives.iter().flat_map(|life| life.iter()).filter(|t| t.repeated).map(calls))
    };
    let without = repeated(pair.without.as_ref()?)?;
    Some(100.0 * (1.0 - repeated(&pair.with)? / without))
}

/// Tasks after the drift until success over the last [`WINDOW`] of them, all worlds together, is as good as in the
/// quarter before; all there are, when it never is.
fn recovery(pair: &Pair<'_>) -> Option<f64> {
    let level = percent(&pair.with, 1, 2, |t| t.solved)?;
    let after = pair.with.iter().map(|life| life.len() / 2).min()?;
    let is_back = |end: &usize| {
        let window = pair.after_drift(*end - WINDOW, *end).map(|t| hundred(t.solved));
        average(window).is_some_and(|success| success >= level - 100.0 * NEAR)
    };
    Some((WINDOW..=after).find(is_back).unwrap_or(after) as f64)
}

impl Pair<'_> {
    /// The tasks of each life from number `from` to `to` after the drift.
    fn after_drift(&self, from: usize, to: usize) -> impl Iterator<Item = &Done> {
        self.with.iter().flat_map(move |life| {
            let drift = life.len().div_ceil(2);
            &life[drift + from..(drift + to).min(life.len())]
        })
    }
}

#[cfg(test)]
mod tests;
