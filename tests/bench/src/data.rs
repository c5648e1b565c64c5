//! Synthetic runs in the shape of incident sessions. The same seed gives the same runs.

use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::{ActionType, Environment, Outcome, OutcomeStatus, Step, StepStatus},
    event::v1::{TaskCompleted, TaskStarted},
};
use prost_types::Timestamp;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use crate::fault::{FAULTS, Fault};

const SEED: u64 = 20;
/// One run in so many fails.
const FAILURES: u64 = 8;
const STARTED_AT: i64 = 1_780_000_000;

const AREAS: &[&str] = &[
    "payment", "order", "cart", "invoice", "search", "profile", "login", "mail", "stock", "price", "report",
    "upload", "chat", "review", "ticket", "ledger",
];
const PARTS: &[&str] = &["api", "worker", "gateway", "db", "cache", "scheduler", "web", "consumer"];

/// The words of one incident.
pub(crate) struct Words {
    service: String,
    host: String,
    order: String,
    version: String,
    number: u32,
    small: u32,
}

impl Words {
    fn draw(random: &mut StdRng) -> Self {
        let mut pick = |from: &[&'static str]| from.choose(random).copied().unwrap_or_default();
        let service = format!("{}-{}", pick(AREAS), pick(PARTS));
        Self {
            service,
            host: format!("node-{:02}", random.random_range(0..60)),
            order: format!("ORD-{}", random.random_range(10_000..99_999)),
            version: format!(
                "v{}.{}.{}",
                random.random_range(1..9),
                random.random_range(0..30),
                random.random_range(0..9)
            ),
            number: random.random_range(1_000..99_999),
            small: random.random_range(80..99),
        }
    }

    /// Those of number `index`.
    pub(crate) fn of(index: u64) -> Self {
        draw(2, index).1
    }

    pub(crate) fn fill(&self, template: &str) -> String {
        template
            .replace("{s}", &self.service)
            .replace("{h}", &self.host)
            .replace("{o}", &self.order)
            .replace("{v}", &self.version)
            .replace("{n}", &self.number.to_string())
            .replace("{m}", &self.small.to_string())
    }
}

fn draw(stream: u64, index: u64) -> (&'static Fault, Words) {
    let mut random = StdRng::seed_from_u64(SEED ^ (stream << 48) ^ index);
    let fault = &FAULTS[random.random_range(0..FAULTS.len())];
    (fault, Words::draw(&mut random))
}

/// The events of run `index`: start, steps, completion; without their sequence.
pub(crate) fn events(index: u64) -> Vec<RecordEventsRequest> {
    let (fault, words) = draw(0, index);
    let failed = index % FAILURES == FAILURES - 1;
    let started = TaskStarted {
        goal: words.fill(fault.task),
        agent: "ops-agent".to_owned(),
        task_type: "incident".to_owned(),
        environment: Some(Environment { tags: vec![fault.tag.to_owned()], ..Environment::default() }),
        ..TaskStarted::default()
    };
    let steps: Vec<Step> = (0..).zip(fault.steps).map(|(at, step)| step_of(at, *step, &words)).collect();
    let completed = TaskCompleted {
        outcome: Some(Outcome {
            status: if failed { OutcomeStatus::Failure } else { OutcomeStatus::Success } as i32,
            conclusion: if failed { String::new() } else { words.fill(fault.conclusion) },
            ..Outcome::default()
        }),
        step_count: u32::try_from(steps.len()).unwrap_or(u32::MAX),
    };
    std::iter::once(Body::Started(started))
        .chain(steps.into_iter().map(Body::Step))
        .chain(std::iter::once(Body::Completed(completed)))
        .zip(0..)
        .map(|(body, at)| RecordEventsRequest {
            trace_id: format!("bench-{index}"),
            recorded_at: Some(Timestamp {
                seconds: STARTED_AT + 600 * (index as i64 % 10_000) + 10 * at,
                nanos: 0,
            }),
            body: Some(body),
            ..RecordEventsRequest::default()
        })
        .collect()
}

fn step_of(index: u32, (tool, detail, observation): (&str, &str, &str), words: &Words) -> Step {
    let status = if observation.starts_with("error") { StepStatus::Error } else { StepStatus::Ok };
    Step {
        step_index: index,
        action_type: ActionType::ToolCall as i32,
        action_name: tool.to_owned(),
        action_detail: words.fill(detail),
        observation: words.fill(observation),
        status: status as i32,
        ..Step::default()
    }
}

/// What is asked about incidents like those of [`events`].
pub(crate) fn query(index: u64) -> String {
    let (fault, words) = draw(1, index);
    words.fill(fault.query)
}

/// A whole run as one text of a few hundred words.
pub(crate) fn long_text(index: u64) -> String {
    let (fault, words) = draw(0, index);
    let steps =
        fault.steps.iter().map(|(tool, detail, observation)| format!("{tool} {detail}\n{observation}"));
    let text: Vec<String> = std::iter::once(fault.task.to_owned()).chain(steps).collect();
    words.fill(&text.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_reproducible_and_filled_in() {
        for index in 0..200 {
            assert_eq!(events(index), events(index));
            let text = format!("{:?} {} {}", events(index), query(index), long_text(index));
            for hole in ["{s}", "{h}", "{o}", "{v}", "{n}", "{m}"] {
                assert!(!text.contains(hole), "{text}");
            }
        }
        assert_ne!(events(1), events(2));
    }
}
