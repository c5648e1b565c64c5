use std::{collections::BTreeMap, fmt, time::Duration};

use hindsight_types::{StepEvaluation, StepLabel, Trajectory};
use serde::Serialize;

use super::{super::score, Judged, sets::Labelled};

const JUDGES: [&str; 3] = ["slice", "model", "both"];

#[derive(Serialize)]
pub(super) struct Report {
    set: &'static str,
    runs: usize,
    judged: usize,
    steps: usize,
    models: Vec<String>,
    /// What was not judged, and how often.
    failures: BTreeMap<String, usize>,
    calls: u32,
    repairs: u32,
    tokens: u64,
    seconds: f64,
    /// Sums over runs.
    agreement: f32,
    consistency: Option<f32>,
    /// Of each judge: reference and label of each step.
    #[serde(skip)]
    pairs: [Vec<(&'static str, &'static str)>; 3],
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    judge: &'static str,
    step_accuracy: f64,
    macro_f1: f64,
    /// Of the steps that are not necessary, how many are called so: the mistake that spreads wrong habits.
    wrongly_necessary: f64,
}

impl Report {
    pub(super) fn new(set: &'static str, runs: usize) -> Self {
        Self {
            set,
            runs,
            judged: 0,
            steps: 0,
            models: Vec::new(),
            failures: BTreeMap::new(),
            calls: 0,
            repairs: 0,
            tokens: 0,
            seconds: 0.0,
            agreement: 0.0,
            consistency: None,
            pairs: Default::default(),
            rows: Vec::new(),
        }
    }

    pub(super) fn judged(&self) -> usize {
        self.judged
    }

    pub(super) fn add(&mut self, labelled: &Labelled, judged: &Judged, took: Duration) {
        self.judged += 1;
        self.steps += labelled.labels.len();
        self.seconds += took.as_secs_f64();
        let spent = judged.llm.spent;
        self.calls += spent.calls;
        self.repairs += spent.repairs;
        self.tokens += spent.usage.tokens();
        if !self.models.contains(&judged.llm.model) {
            self.models.push(judged.llm.model.clone());
        }
        self.agreement += judged.both.judging.agreement.unwrap_or_default();
        if let Some(share) = judged.both.judging.consistency {
            *self.consistency.get_or_insert(0.0) += share;
        }
        let labels = [&judged.slice, &judged.model, &judged.both.steps];
        for (pairs, steps) in self.pairs.iter_mut().zip(labels) {
            pairs.extend(labelled.labels.iter().map(|(at, right)| pair(right, &steps[*at])));
        }
        self.rows = JUDGES.iter().zip(&self.pairs).map(|(judge, pairs)| row(judge, pairs)).collect();
    }

    pub(super) fn fail(&mut self, run: &Trajectory, reason: &str) {
        eprintln!("{}: {reason}", run.trace_id);
        let kind: String = reason.split(':').next().unwrap_or_default().chars().take(80).collect();
        *self.failures.entry(kind).or_default() += 1;
    }
}

/// Any of the labels that are right counts as the one.
fn pair(right: &[StepLabel], step: &StepEvaluation) -> (&'static str, &'static str) {
    let reference = right[0].as_str();
    (reference, if right.contains(&step.label) { reference } else { step.label.as_str() })
}

fn row(judge: &'static str, pairs: &[(&'static str, &'static str)]) -> Row {
    let classes: Vec<f64> = StepLabel::ALL
        .iter()
        .map(|l| score::class(pairs, &l.as_str()))
        .filter(|c| c.support > 0)
        .map(|c| c.f1)
        .collect();
    let necessary = StepLabel::Necessary.as_str();
    let others: Vec<(bool, bool)> =
        pairs.iter().filter(|(r, _)| *r != necessary).map(|(_, l)| (true, *l == necessary)).collect();
    Row {
        judge,
        step_accuracy: score::accuracy(pairs),
        macro_f1: classes.iter().sum::<f64>() / classes.len().max(1) as f64,
        wrongly_necessary: score::accuracy(&others),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.models.join(", ");
        writeln!(
            f,
            "{}: {} of {} runs judged by {models}, {} steps with a label\n",
            self.set, self.judged, self.runs, self.steps
        )?;
        if self.steps > 0 {
            writeln!(
                f,
                "| judge | step accuracy | macro-F1 | idle steps called necessary |\n|---|---:|---:|---:|"
            )?;
        }
        for r in self.rows.iter().filter(|_| self.steps > 0) {
            writeln!(
                f,
                "| {} | {:.3} | {:.3} | {:.3} |",
                r.judge, r.step_accuracy, r.macro_f1, r.wrongly_necessary
            )?;
        }
        let runs = self.judged.max(1) as f32;
        write!(f, "\nslice and model agree on {:.0} % of the steps", self.agreement / runs * 100.0)?;
        if let Some(consistency) = self.consistency {
            write!(f, ", judgements among themselves on {:.0} %", consistency / runs * 100.0)?;
        }
        writeln!(
            f,
            "; {} questions, {} of them repairs, {} tokens, {:.1} s per run",
            self.calls,
            self.repairs,
            self.tokens,
            self.seconds / f64::from(runs)
        )?;
        for (reason, count) in &self.failures {
            writeln!(f, "not judged: {count} × {reason}")?;
        }
        Ok(())
    }
}
