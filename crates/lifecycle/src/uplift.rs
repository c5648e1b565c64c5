use hindsight_types::{Evidence, OutcomeStatus};

use crate::chance::{Beta, crossing, student_below, student_quantile};

/// Bounds of what is told of a difference: it lies between them with a probability of 90 %.
const CREDIBLE: (f64, f64) = (0.05, 0.95);
/// How far runs of like tasks lie apart in steps and tokens as far as nothing is known: about a third, as a
/// difference of logarithms. Stands for one run, so that three that happen to be equal are no proof.
const SPREAD: f64 = 0.3;
/// Success may be this much lower and is still as good, when the rest is better.
const AS_GOOD: f64 = 0.1;

/// What runs of one kind came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arm {
    /// Runs whose end is known.
    pub runs: u32,
    /// Those that reached their goal.
    pub successes: u32,
    /// Typical number of steps of those that did not fail: the geometric mean, the latest counting most. 0: not known.
    pub steps: f64,
    /// The same of tokens.
    pub tokens: f64,
}

/// What the advice does to one measure; better is above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uplift {
    /// Success: difference of the shares, −1 to 1. Steps and tokens: the share that is saved, below 1.
    pub value: f64,
    /// It lies between these with a probability of 90 %.
    pub low: f64,
    pub high: f64,
    /// P(above 0).
    pub probability: f64,
}

/// Runs of one kind, the latest of which decide: with each run that comes, what came before weighs a little less
/// (discounted counts: Raj & Kalyani 2017, "Taming non-stationary bandits", arXiv 1707.09727).
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    keep: f64,
    runs: u32,
    successes: u32,
    good: f64,
    bad: f64,
    steps: Sizes,
    tokens: Sizes,
}

impl Tally {
    /// `window`: how many of the latest runs decide.
    pub(crate) fn new(window: f64) -> Self {
        Self { keep: 1.0 - 1.0 / window.max(1.0), ..Self::default() }
    }

    /// A run whose end is not known says nothing of success, nor whether its steps led anywhere.
    pub(crate) fn add(&mut self, line: &Evidence) {
        let good = match line.outcome {
            OutcomeStatus::Success => 1.0,
            OutcomeStatus::Partial => 0.5,
            OutcomeStatus::Failure => 0.0,
            OutcomeStatus::Unknown => return,
        };
        self.runs += 1;
        self.successes += u32::from(line.outcome == OutcomeStatus::Success);
        self.good = self.good * self.keep + good;
        self.bad = self.bad * self.keep + 1.0 - good;
        if line.outcome != OutcomeStatus::Failure {
            self.steps.add(line.steps, self.keep);
            self.tokens.add(line.tokens, self.keep);
        }
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }

    pub(crate) fn success(&self) -> Beta {
        Beta::seen(self.good, self.bad)
    }

    pub(crate) fn arm(&self) -> Arm {
        let (steps, tokens) = (self.steps.typical(), self.tokens.typical());
        Arm { runs: self.runs, successes: self.successes, steps, tokens }
    }
}

/// Logarithms of sizes, weighed.
#[derive(Debug, Clone, Default)]
struct Sizes {
    count: u32,
    weight: f64,
    /// Sum of the squares of the weights.
    squares: f64,
    sum: f64,
    /// Sum of the squared logarithms.
    power: f64,
}

impl Sizes {
    fn add(&mut self, size: u32, keep: f64) {
        if size == 0 {
            return;
        }
        let ln = f64::from(size).ln();
        self.count += 1;
        self.weight = self.weight * keep + 1.0;
        self.squares = self.squares * keep * keep + 1.0;
        self.sum = self.sum * keep + ln;
        self.power = self.power * keep + ln * ln;
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    fn typical(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.mean().exp() }
    }

    /// Runs of equal weight that would say as much (Kish 1965).
    fn effective(&self) -> f64 {
        self.weight * self.weight / self.squares
    }

    /// Sum of the squared distances from the mean.
    fn scatter(&self) -> f64 {
        let spread = (self.power / self.weight - self.mean().powi(2)).max(0.0);
        spread * self.effective()
    }
}

/// What two kinds of runs differ in.
pub(crate) struct Comparison<'a> {
    pub(crate) with: &'a Tally,
    pub(crate) without: &'a Tally,
    /// Runs of each kind that are needed.
    pub(crate) needed: u32,
}

impl Comparison<'_> {
    fn is_possible(&self) -> bool {
        self.with.runs.min(self.without.runs) >= self.needed
    }

    /// P(success is likelier with the advice). `None`: too few runs.
    pub(crate) fn better(&self) -> Option<f64> {
        self.is_possible().then(|| self.with.success().exceeds(self.without.success(), 0.0))
    }

    /// P(success is not much less likely with the advice). `None`: too few runs.
    pub(crate) fn as_good(&self) -> Option<f64> {
        self.is_possible().then(|| self.with.success().exceeds(self.without.success(), -AS_GOOD))
    }

    pub(crate) fn success(&self) -> Option<Uplift> {
        let probability = self.better()?;
        let (with, without) = (self.with.success(), self.without.success());
        let bound = |share: f64| crossing(-1.0, 1.0, |d| with.exceeds(without, d) <= 1.0 - share);
        let value = with.mean() - without.mean();
        Some(Uplift { value, low: bound(CREDIBLE.0), high: bound(CREDIBLE.1), probability })
    }

    pub(crate) fn steps(&self) -> Option<Saving> {
        saving(&self.with.steps, &self.without.steps, self.needed)
    }

    pub(crate) fn tokens(&self) -> Option<Saving> {
        saving(&self.with.tokens, &self.without.tokens, self.needed)
    }
}

/// A difference of means of logarithms, distributed as Student's.
pub(crate) struct Saving {
    difference: f64,
    error: f64,
    freedom: f64,
}

/// With the spread taken to be the same in both; see [`SPREAD`] for what is taken for granted of it.
fn saving(with: &Sizes, without: &Sizes, needed: u32) -> Option<Saving> {
    if with.count.min(without.count) < needed {
        return None;
    }
    let (n1, n0) = (with.effective(), without.effective());
    let freedom = n1 + n0 - 1.0;
    let variance = (SPREAD.powi(2) + with.scatter() + without.scatter()) / freedom;
    let error = (variance * (1.0 / n1 + 1.0 / n0)).sqrt();
    Some(Saving { difference: without.mean() - with.mean(), error, freedom })
}

impl Saving {
    pub(crate) fn probability(&self) -> f64 {
        student_below(self.difference / self.error, self.freedom)
    }

    pub(crate) fn uplift(&self) -> Uplift {
        let saved = |difference: f64| 1.0 - (-difference).exp();
        let bound = |share| saved(self.difference + self.error * student_quantile(share, self.freedom));
        Uplift {
            value: saved(self.difference),
            low: bound(CREDIBLE.0),
            high: bound(CREDIBLE.1),
            probability: self.probability(),
        }
    }
}

#[cfg(test)]
mod tests;
