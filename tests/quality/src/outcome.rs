//! How well the outcome of a run is read from its steps, when nobody says.

use std::fmt;
use std::path::Path;

use hindsight_judge::outcome;
use hindsight_types::{Outcome, OutcomeStatus, Trajectory};
use serde::Serialize;

use crate::judge::load;

/// Bounds of the confidence bands.
const BANDS: [(f32, f32); 3] = [(0.0, 0.6), (0.6, 0.75), (0.75, 1.01)];

#[derive(Serialize)]
struct Report {
    data: &'static str,
    runs: usize,
    accuracy: f64,
    /// Always the more frequent outcome.
    majority: f64,
    /// Share of runs whose outcome is sure enough to be acted on, and accuracy on them.
    settled: f64,
    settled_accuracy: f64,
    bands: Vec<Band>,
}

/// Runs of about the same confidence: calibrated when accuracy and confidence agree.
#[derive(Serialize)]
struct Band {
    from: f32,
    runs: usize,
    confidence: f64,
    accuracy: f64,
}

/// One run: what was read, how sure, whether it is settled, and whether it is right.
struct Read {
    confidence: f32,
    settled: bool,
    right: bool,
}

/// Measures on every data set that is there; says loudly which are not.
#[allow(clippy::print_stdout)]
pub(crate) fn run(data: &Path, json: bool, misses: bool) -> anyhow::Result<()> {
    const SETS: [(&str, &str); 2] = [
        ("tau_airline", "tau_airline/trajectories.json"),
        ("agentprocessbench hotpotqa", "agentprocessbench/hotpotqa_dev.jsonl"),
    ];
    let mut reports = Vec::new();
    for (name, file) in SETS {
        if let Some(path) = load::present(data, file) {
            reports.push(measure(name, &load::runs(&path)?, misses));
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(|r| println!("{r}"));
    }
    Ok(())
}

fn measure(data: &'static str, runs: &[Trajectory], misses: bool) -> Report {
    let known = |t: &&Trajectory| t.outcome.resolved() != OutcomeStatus::Unknown;
    let read: Vec<Read> = runs.iter().filter(known).map(|t| one(t, misses)).collect();
    let good = runs.iter().filter(known).filter(|t| t.outcome.resolved() == OutcomeStatus::Success).count();
    let settled: Vec<&Read> = read.iter().filter(|r| r.settled).collect();
    Report {
        data,
        runs: read.len(),
        accuracy: share(read.iter().map(|r| r.right)),
        majority: good.max(read.len() - good) as f64 / read.len().max(1) as f64,
        settled: settled.len() as f64 / read.len().max(1) as f64,
        settled_accuracy: share(settled.iter().map(|r| r.right)),
        bands: BANDS.iter().map(|b| band(&read, *b)).collect(),
    }
}

/// The run as it is without its outcome; the conclusion stays, since the agent says it itself.
fn one(t: &Trajectory, misses: bool) -> Read {
    let hidden = Outcome { conclusion: t.outcome.conclusion.clone(), ..Outcome::default() };
    let found = outcome::infer(&Trajectory { outcome: hidden, ..t.clone() });
    let success = |s| matches!(s, OutcomeStatus::Success | OutcomeStatus::Partial);
    let right = success(found.status) == success(t.outcome.resolved());
    if misses && !right {
        eprintln!("{}: {:?} but {found:?}", t.trace_id, t.outcome.resolved());
    }
    let settled = found.settled() != OutcomeStatus::Unknown;
    Read { confidence: found.confidence, settled, right }
}

fn band(read: &[Read], (from, to): (f32, f32)) -> Band {
    let within: Vec<&Read> = read.iter().filter(|r| (from..to).contains(&r.confidence)).collect();
    let sum: f64 = within.iter().map(|r| f64::from(r.confidence)).sum();
    Band {
        from,
        runs: within.len(),
        confidence: sum / within.len().max(1) as f64,
        accuracy: share(within.iter().map(|r| r.right)),
    }
}

fn share(right: impl ExactSizeIterator<Item = bool>) -> f64 {
    let all = right.len().max(1) as f64;
    right.filter(|r| *r).count() as f64 / all
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data, runs, accuracy, majority, settled, settled_accuracy, bands } = self;
        writeln!(f, "{data}, {runs} runs, outcome hidden\n")?;
        writeln!(
            f,
            "accuracy {accuracy:.3}, always the more frequent {majority:.3}; settled {settled:.3}, accuracy on these {settled_accuracy:.3}\n"
        )?;
        writeln!(f, "| confidence from | runs | mean confidence | accuracy |\n|---:|---:|---:|---:|")?;
        for b in bands {
            writeln!(f, "| {:.2} | {} | {:.3} | {:.3} |", b.from, b.runs, b.confidence, b.accuracy)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BANDS, Read, band, share};

    #[test]
    fn a_band_holds_the_runs_of_its_confidence() {
        let read = |confidence, right| Read { confidence, settled: true, right };
        let all = [read(0.5, true), read(0.6, false), read(0.7, true), read(1.0, true)];
        let bands: Vec<_> = BANDS.iter().map(|b| band(&all, *b)).collect();
        assert_eq!(bands.iter().map(|b| b.runs).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(bands[1].accuracy, 0.5);
        assert_eq!(share([true, false].into_iter()), 0.5);
        assert_eq!(share([].into_iter()), 0.0);
    }
}
