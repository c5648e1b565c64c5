use hindsight_types::{Gate, Review, ReviewDecision, Stage};

use super::machine::Machine;

pub(super) fn learned() -> String {
    "learned, and confirmed by no other run yet".to_owned()
}

pub(super) fn ungated() -> String {
    "lessons serve as soon as they are learned here (gate = \"off\")".to_owned()
}

pub(super) fn reviewed(review: &Review) -> String {
    let decided = match review.decision {
        ReviewDecision::Approved => "approved",
        ReviewDecision::Rejected => "rejected",
    };
    format!("{decided} by {}: {}", review.by, review.reason)
}

pub(super) fn confirmed(supported: u32) -> String {
    format!("confirmed by {}", runs(supported, "other run"))
}

pub(super) fn helpful(machine: &Machine<'_>) -> String {
    let (compared, promote) = (machine.comparison(), machine.policy().promote);
    if let Some(better) = compared.better().filter(|p| *p >= promote) {
        return format!("{}: better with probability {better:.2}", success(machine));
    }
    let saved = [(compared.steps(), "steps"), (compared.tokens(), "tokens")];
    let saved = saved.into_iter().filter_map(|(saving, what)| Some((saving?, what)));
    match saved.max_by(|(a, _), (b, _)| a.probability().total_cmp(&b.probability())) {
        Some((saving, what)) => {
            let share = saving.uplift().value * 100.0;
            let probability = saving.probability();
            format!("{share:.0} % fewer {what} at the same success: fewer with probability {probability:.2}")
        }
        None => success(machine),
    }
}

pub(super) fn harmful(machine: &Machine<'_>) -> String {
    let (worse, contradicted) = (machine.worse(), machine.contradicted());
    if worse >= contradicted {
        return format!("harm: {}: worse with probability {worse:.2}", success(machine));
    }
    let (supported, refuted) = machine.counts();
    format!(
        "harm: confirmed by {}, contradicted by {refuted}: it holds no longer with probability {contradicted:.2}",
        runs(supported, "run")
    )
}

/// Of the latest runs.
fn success(machine: &Machine<'_>) -> String {
    let compared = machine.comparison();
    let percent = |share: f64| share * 100.0;
    let (with, without) = (compared.with.success().mean(), compared.without.success().mean());
    format!("success {:.0} % with it, {:.0} % without", percent(with), percent(without))
}

pub(super) fn next(machine: &Machine<'_>) -> String {
    let policy = machine.policy();
    let watched = || {
        let (retire, harms) = (policy.retire, machine.harms());
        format!("retired when it harms with probability {retire:.2} (now {harms:.2})")
    };
    match (policy.gate, machine.stage()) {
        (Gate::Off, Stage::Retired) | (_, Stage::Retired) => "an approval".to_owned(),
        (Gate::Off, _) => "nothing: every lesson serves here".to_owned(),
        (Gate::People, Stage::Candidate | Stage::Canary) => "an approval".to_owned(),
        (Gate::Evidence, Stage::Candidate) => {
            "a run, other than the one that taught it, that confirms it".to_owned()
        }
        (Gate::Evidence, Stage::Canary) => trial(machine),
        (_, Stage::Active) => match machine.approval() {
            Some(review) => format!("nothing: approved by {}; {}", review.by, watched()),
            None => watched(),
        },
    }
}

fn trial(machine: &Machine<'_>) -> String {
    let (compared, policy) = (machine.comparison(), machine.policy());
    let missing = |have: u32| compared.needed.saturating_sub(have);
    let (with, without) = (missing(compared.with.runs()), missing(compared.without.runs()));
    match (with, without) {
        (0, 0) => format!(
            "more runs: it helps with probability {:.2}, {:.2} promotes it",
            machine.helps(),
            policy.promote
        ),
        (with, 0) => format!("{} with the advice", runs(with, "more run")),
        (0, without) => format!("{} without the advice", runs(without, "more run")),
        (with, without) => format!("{} with the advice and {without} without", runs(with, "more run")),
    }
}

fn runs(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
