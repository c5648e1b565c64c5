//! What is told of an expected memory: why, and what to do about it.

use hindsight_types::{MemoryId, Receipt, WithheldReason};

use super::{Expectation, Fate};

pub(super) fn tell(told: &mut Expectation, receipt: &Receipt, has_user: bool) {
    let kind = told.kind.map_or("memory", |kind| kind.as_str());
    let (reason, remedy) = match &told.fate {
        Fate::Given { why } => (format!("it was given: {why}"), String::new()),
        Fate::GivenNow => (
            "it was not given then; the same question gives it now".to_owned(),
            "ask again: what is remembered has changed since".to_owned(),
        ),
        Fate::Withheld { reason, score, now } => {
            let (why, remedy) = withheld(*reason, told.instead, told.floor, receipt);
            let when = if *now { "now it is scored" } else { "it was scored" };
            (format!("{when} {score:.3} and withheld: {why}"), remedy)
        }
        Fate::NotShortlisted => (
            "it was proposed, and others are nearer by words and meaning together".to_owned(),
            "ask in words nearer to what it says, or raise `recall.shortlist`".to_owned(),
        ),
        Fate::NotProposed => not_proposed(told),
        Fate::NotSearched { arm, why } => (
            format!("the search that finds it, {arm} over {kind}s, was dropped: {why}"),
            "ask again; with more time when it was the deadline, and with `strict` to be told at once"
                .to_owned(),
        ),
        Fate::KindNotAsked => (
            format!("it is a {kind}, and that recall did not ask for any"),
            format!("ask with kinds = [{kind}]"),
        ),
        Fate::Obsolete => (
            "it is obsolete: something newer took its place, or it was taken back".to_owned(),
            "retain it again if it holds".to_owned(),
        ),
        Fate::Newer => {
            ("it is newer than that recall".to_owned(), "ask again: it can be found from now on".to_owned())
        }
        Fate::NotFound => (
            "there is no memory of this id that may be seen here".to_owned(),
            if has_user {
                "check the id; what is of another user, agent or task type is only seen with that named"
                    .to_owned()
            } else {
                "check the id; what is of a user is only seen in a recall for that user: ask with user = …"
                    .to_owned()
            },
        ),
    };
    (told.reason, told.remedy) = (reason, remedy);
}

fn not_proposed(told: &Expectation) -> (String, String) {
    let beyond: Vec<String> = told
        .places
        .iter()
        .filter(|place| place.score.is_some())
        .map(|place| match place.rank {
            Some(rank) => format!("{rank} by {}", place.arm),
            None => format!("beyond 1000 by {}", place.arm),
        })
        .collect();
    if beyond.is_empty() {
        let reason = "it has no word, name, time or meaning in common with the question";
        return (reason.to_owned(), "ask in words that it holds".to_owned());
    }
    let candidates = told.places.first().map_or(0, |place| place.candidates);
    (
        format!("it is number {}; only the first {candidates} are candidates", beyond.join(", ")),
        "ask in words nearer to what it says, or raise `recall.candidates`".to_owned(),
    )
}

fn withheld(
    reason: WithheldReason,
    instead: Option<MemoryId>,
    floor: f32,
    receipt: &Receipt,
) -> (String, String) {
    let asked = receipt.asked.clone().unwrap_or_default();
    let other = instead.map_or_else(|| "another".to_owned(), |id| id.to_string());
    let (why, remedy) = match reason {
        WithheldReason::BelowFloor => (
            format!("it is too far from the question; the floor is {floor:.2}"),
            "ask in words nearer to what it says, or lower `recall.floor`".to_owned(),
        ),
        WithheldReason::Budget => (
            "enough better ones were there".to_owned(),
            format!("ask with a higher limit; it was {}, at most 10", asked.limit),
        ),
        WithheldReason::TokenBudget => (
            "the block would have been too long".to_owned(),
            format!("ask with a higher token_budget; it was {}, at most 8000", asked.token_budget),
        ),
        WithheldReason::NearDuplicate => {
            (format!("{other} says the same and is better"), "nothing is lost: read that one".to_owned())
        }
        WithheldReason::Superseded => (
            format!("{other} is newer and says otherwise"),
            "retain it again if the older one still holds".to_owned(),
        ),
        WithheldReason::Stage => (
            "its stage does not allow serving".to_owned(),
            "a lesson is served once evidence supports it, and no more when it is retired".to_owned(),
        ),
        WithheldReason::Expired => (
            "its time is over".to_owned(),
            "retain it again with a later expires_at, or with none".to_owned(),
        ),
        WithheldReason::Control => (
            "chance kept it back: it is on trial, and half of the recalls that would have it do without, so that \
             one can tell whether it helps"
                .to_owned(),
            "ask again: each recall draws anew; `hindsight lessons` tells how the trial goes".to_owned(),
        ),
        WithheldReason::HoldOut => (
            "chance kept it back: a few recalls do without it, to see whether it still helps".to_owned(),
            "ask again: each recall draws anew; `lifecycle.hold_out` says how few".to_owned(),
        ),
        WithheldReason::SaidBefore => (
            "it was said on the same stream already".to_owned(),
            "nothing is lost: it stands in an earlier reminder".to_owned(),
        ),
        WithheldReason::Reminders => (
            "all reminders of the stream were used up".to_owned(),
            "begin another stream, or raise `watch.reminders`".to_owned(),
        ),
        WithheldReason::CoolDown => (
            "the stream had just been told something of the kind".to_owned(),
            "ask again a little later, or lower `watch.cool_down`".to_owned(),
        ),
        WithheldReason::TooRare => (
            "it was not seen often enough of late to warn of it".to_owned(),
            "it is said when the call fails; `watch.min_times` says how often is often enough".to_owned(),
        ),
    };
    (why, remedy)
}
