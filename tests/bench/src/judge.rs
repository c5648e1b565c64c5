//! The slice judge alone: runs per second of one core, how its time grows with the steps of a run, and the
//! memory that a very large run takes.

use std::{
    fmt::Write as _,
    hint::black_box,
    time::{Duration, Instant},
};

use hindsight_judge::slice;
use hindsight_types::{
    ActionType, Environment, Outcome, OutcomeStatus, Scope, Step, StepStatus, TenantId, Timestamp, TraceId,
    Trajectory, Visibility,
};

use crate::{process, report::Report};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Steps per run, smallest first.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 500, 1000, 2000])]
    steps: Vec<usize>,
    /// Bytes of each observation.
    #[arg(long, default_value_t = 2_000)]
    observation: usize,
    /// Steps judged per size, at least; sizes with fewer are repeated.
    #[arg(long, default_value_t = 4_000)]
    judged: usize,
    /// Megabytes of observations of the large run.
    #[arg(long, default_value_t = 50)]
    large: usize,
    /// Steps of the large run.
    #[arg(long, default_value_t = 2_000)]
    large_steps: usize,
}

pub(crate) fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let mut first: Option<String> = None;
    for steps in args.steps.iter().filter(|s| **s > 0) {
        let t = session(*steps, args.observation)?;
        let runs = args.judged.div_ceil(*steps);
        let started = Clock::start();
        let work = (0..runs).fold(0, |_, _| black_box(slice::judge(&t)).work);
        let seconds = started.seconds() / runs as f64;
        report.add(format!("{steps} steps, runs judged"), 1.0 / seconds, "runs/s/core");
        let per_step = format!("{steps} steps, time per step");
        let to = first.get_or_insert_with(|| per_step.clone()).clone();
        report.add_beside(&per_step, seconds * 1e6 / *steps as f64, "µs", &to);
        report.add(format!("{steps} steps, operations per step"), work as f64 / *steps as f64, "");
    }
    large(args, report)
}

/// Time on a core where the system tells it, else time of day.
struct Clock(Instant, Option<Duration>);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), process::on_core())
    }

    fn seconds(&self) -> f64 {
        let on_core = self.1.zip(process::on_core()).map(|(before, now)| now.saturating_sub(before));
        on_core.unwrap_or_else(|| self.0.elapsed()).as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// What a very large run takes beyond the run itself.
fn large(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let t = session(args.large_steps, args.large * 1_000_000 / args.large_steps.max(1))?;
    let name = format!("{} steps with {} MB of observations", args.large_steps, args.large);
    let before = process::resident();
    let started = Clock::start();
    black_box(slice::judge(&t));
    report.add(format!("{name}, judged in"), started.seconds(), "s");
    // The peak is that of the whole process; nothing before was larger than this run.
    if let (Some(before), Some(peak)) = (before, process::peak()) {
        report.add(format!("{name}, resident before"), before, "MB");
        report.add(format!("{name}, memory taken by judging"), (peak - before).max(0.0), "MB");
    }
    Ok(())
}

/// A session that looks, thinks, changes, waits and fails, each round on an order that the one before named.
fn session(steps: usize, observation: usize) -> anyhow::Result<Trajectory> {
    let steps = (0..steps).map(|at| step(at, observation)).collect();
    Ok(Trajectory {
        trace_id: TraceId::new("bench")?,
        scope: Scope::new(TenantId::new("bench")?, Visibility::Tenant),
        session: None,
        user: None,
        agent: None,
        task_type: None,
        task_description: "Work through the queue of orders that hang".to_owned(),
        steps,
        outcome: Outcome {
            status: OutcomeStatus::Success,
            conclusion: "Every order of the queue went through.".to_owned(),
            ..Outcome::default()
        },
        environment: Environment::default(),
        receipts: Vec::new(),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
    })
}

fn step(at: usize, observation: usize) -> Step {
    let (this, next) = (at / 6, at / 6 + 1);
    let order = format!(r#"{{"order_id":"ORD-{this}x"}}"#);
    let words = ActionType::LlmReasoning;
    let call = ActionType::ToolCall;
    let (kind, name, detail, result) = match at % 6 {
        0 => (call, "get_order", order, orders(next, observation)),
        1 => (
            words,
            "",
            format!("ORD-{this}x waits for node-{}; I shall restart it.", this % 40),
            String::new(),
        ),
        2 => {
            (call, "shell", format!(r#"{{"command":"systemctl restart node-{}"}}"#, this % 40), String::new())
        }
        3 => (call, "get_logs", format!(r#"{{"host":"node-{}"}}"#, this % 40), log(at, observation)),
        4 => (call, "update_order", order, "error: version conflict".to_owned()),
        _ => {
            (call, "update_order", format!(r#"{{"order_id":"ORD-{this}x","version":{at}}}"#), "ok".to_owned())
        }
    };
    Step {
        step_index: at as u32,
        action_type: kind,
        action_name: name.to_owned(),
        action_detail: detail,
        status: if result.starts_with("error") { StepStatus::Error } else { StepStatus::Ok },
        observation: result,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    }
}

/// The half of the steps that show much make up for those that show nothing.
fn orders(next: usize, bytes: usize) -> String {
    let mut text = format!(r#"{{"next":"ORD-{next}x","orders":["#);
    while text.len() < bytes * 3 {
        let n = text.len();
        let _ = write!(
            text,
            r#"{{"order_id":"O-{next}-{n}","state":"pending","amount":{n},"note":"客户催单 {n}"}},"#
        );
    }
    text.push_str("{}]}");
    text
}

fn log(at: usize, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes * 3 {
        let n = text.len();
        let _ =
            writeln!(text, "2026-03-01T10:{:02}:{:02}Z INFO request {at}-{n} took {n} ms", n % 60, n % 59);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_the_size_that_was_asked_for() {
        let t = session(120, 1_000).unwrap();
        let bytes: usize = t.steps.iter().map(|s| s.observation.len()).sum();
        assert_eq!(t.steps.len(), 120);
        assert!((110_000..140_000).contains(&bytes), "{bytes} bytes");
    }
}
