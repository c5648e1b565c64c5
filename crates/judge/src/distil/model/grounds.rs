//! Whether what a model advises rests on what the agent itself did, and not on what it read.

use std::collections::HashSet;

use hindsight_types::{ActionType, Evaluation, StepLabel, Trajectory, limits};

use crate::canon;
use crate::effect::{self, Effect, WriteKind};

use super::super::phrase::{self, Judged};
use super::holds;

/// Words of English that stand in every advice.
const GRAMMAR: &str = "a an the to of in on at for with from by and or then it its this that is are be was has as \
    into not when if first use run set";
/// Words by which a clause says what to leave out.
const NEVER: [&str; 14] = [
    "never",
    "do not",
    "don't",
    "must not",
    "avoid",
    "不要",
    "切勿",
    "禁止",
    "不得",
    "不能",
    "不可",
    "避免",
    "请勿",
    "千万别",
];
/// Between the parts of an action of several steps.
const THEN: [&str; 5] = [", then ", " then ", "，然后", "；", "; "];
/// How much of an observation is searched for a condition.
const SEEN_BYTES: usize = 64 * 1024;
/// The share of a part's words that make it the same action as a step.
const SAME: f32 = 0.8;

/// One call of the run, in words.
struct Call<'a> {
    of: Judged<'a>,
    words: HashSet<String>,
}

/// What the agent itself did and said, beside what it read.
pub(super) struct Grounds<'a> {
    t: &'a Trajectory,
    calls: Vec<Call<'a>>,
}

/// What of a lesson is looked at.
pub(super) struct Advice<'a> {
    pub(super) condition: &'a str,
    pub(super) chosen: &'a str,
    pub(super) rejected: &'a [String],
    pub(super) advice: &'a str,
}

impl<'a> Grounds<'a> {
    pub(super) fn of(t: &'a Trajectory, evaluation: &'a Evaluation) -> Self {
        let calls =
            phrase::judged(t, &evaluation.steps).filter(|j| j.step.action_type == ActionType::ToolCall);
        let calls = calls.map(|of| Call { of, words: words(&done(&of)) });
        Self { t, calls: calls.collect() }
    }

    /// Why a lesson does not rest on what the agent did; `None`: it does.
    pub(super) fn lacks(&self, claim: &Advice<'_>) -> Option<String> {
        if !self.was_seen(claim.condition) {
            return Some("no condition: what it names was not seen in the run".to_owned());
        }
        self.only_read(claim)
            .or_else(|| self.not_done(claim.chosen))
            .or_else(|| self.takes_away(claim.chosen))
            .or_else(|| negates(claim).then(|| "its advice warns of what it chose".to_owned()))
    }

    /// Why a summary tells another way than the one that worked; `None`: it does not.
    pub(super) fn mistold(&self, summary: &str) -> Option<String> {
        let told = words(summary);
        let (needed, idle): (Vec<_>, Vec<_>) = self.calls.iter().partition(|c| is_needed(c));
        let changed: Vec<_> =
            needed.iter().filter(|c| effect::classify(c.of.step).is_write()).copied().collect();
        let way = if changed.is_empty() { &needed } else { &changed };
        // Words that tell the calls that were needed from the others.
        let own = |c: &&&Call<'_>| {
            c.words.iter().any(|w| told.contains(w) && idle.iter().all(|i| !i.words.contains(w)))
        };
        let tellable = way.iter().any(|c| c.words.iter().any(|w| idle.iter().all(|i| !i.words.contains(w))));
        if !tellable || way.iter().any(|c| own(&c)) {
            return None;
        }
        let named = idle.into_iter().find(|c| {
            let changes = effect::classify(c.of.step).is_write();
            changes && told_of(c, &told)
        })?;
        let step = named.of.step.step_index;
        Some(format!(
            "the summary tells of step {step}, which is {}, and of nothing that was needed",
            named.of.verdict.label.as_str()
        ))
    }

    fn was_seen(&self, condition: &str) -> bool {
        let named = words(condition);
        let seen = |text: &str| {
            let text = text[..text.floor_char_boundary(SEEN_BYTES)].to_lowercase();
            2 * named.iter().filter(|w| text.contains(w.as_str())).count() >= named.len()
        };
        let steps = self.t.steps.iter().map(|s| s.observation.as_str());
        let user = self.t.steps.iter().filter(|s| s.action_type != ActionType::ToolCall);
        let said = user.map(|s| s.action_detail.as_str());
        steps.chain(said).chain([self.t.task_description.as_str()]).any(seen)
    }

    /// Each part must be something that the agent did in a step that was needed.
    fn not_done(&self, chosen: &str) -> Option<String> {
        let mut needed: HashSet<String> = HashSet::new();
        for call in self.calls.iter().filter(|c| is_needed(c)) {
            needed.extend(call.words.iter().cloned());
        }
        for part in parts(chosen) {
            let part = words(part);
            let best = self.calls.iter().max_by(|a, b| likeness(&part, a).total_cmp(&likeness(&part, b)));
            if let Some(best) = best.filter(|b| share(&part, &b.words) >= SAME && !is_needed(b)) {
                let (label, step) = (best.of.verdict.label.as_str(), best.of.step.step_index);
                return Some(format!("it advises what the evaluation calls {label} (step {step})"));
            }
        }
        let all = words(chosen);
        // Latin words are arguments that can be compared; Chinese words may say the same in other words.
        let plain: HashSet<String> = all.iter().filter(|w| w.is_ascii()).cloned().collect();
        let grounded =
            if plain.len() >= 2 { share(&plain, &needed) > 0.5 } else { share(&all, &needed) >= 0.4 };
        (!grounded).then(|| "it advises what the agent did not do in any step that was needed".to_owned())
    }

    /// A name that the agent only read is not its own: the text it stands in may have been written to be
    /// advised. The condition may be quoted, but no address in it.
    fn only_read(&self, claim: &Advice<'_>) -> Option<String> {
        let own = |name: &str| {
            let stated = [&self.t.task_description, &self.t.outcome.conclusion];
            let steps = self.t.steps.iter().flat_map(|s| [&s.action_name, &s.action_detail, &s.reflection]);
            let address = name.contains("://");
            stated.into_iter().chain(steps).any(|s| holds(s, name))
                || !address && holds(claim.condition, name)
        };
        let texts = [claim.chosen, claim.advice];
        let named = texts.into_iter().flat_map(|t| hindsight_text::names(t, limits::TAGS, limits::ID_BYTES));
        let addresses = texts.into_iter().flat_map(str::split_whitespace).filter(|w| w.contains("://"));
        let addresses =
            addresses.map(|w| w.trim_matches(|c: char| !c.is_alphanumeric() && c != '/').to_owned());
        let unknown = named.chain(addresses).find(|name| !own(name))?;
        Some(format!("it names `{unknown}`, which the agent only read or which the run does not contain"))
    }

    /// What destroys is advised only by a run that needed to.
    fn takes_away(&self, chosen: &str) -> Option<String> {
        let deletes =
            |w: &str| effect::classify_call("shell", w, None, "") == Effect::Write(WriteKind::Delete);
        let asked = chosen.split(|c: char| !c.is_alphanumeric()).find(|w| deletes(&w.to_lowercase()))?;
        let did = |c: &&Call<'_>| {
            is_needed(c)
                && (c.words.contains(&asked.to_lowercase())
                    || effect::classify(c.of.step) == Effect::Write(WriteKind::Delete))
        };
        let none = !self.calls.iter().any(|c| did(&c));
        none.then(|| {
            format!("it advises to `{asked}`, which the agent did not do in any step that was needed")
        })
    }
}

fn is_needed(call: &Call<'_>) -> bool {
    call.of.verdict.label == StepLabel::Necessary
}

/// The tool and the arguments of a call, with their keys.
fn done(j: &Judged<'_>) -> String {
    let arguments = canon::arguments(&j.step.action_detail);
    let values = canon::values(&j.step.action_detail, arguments.as_ref());
    format!("{} {values}", j.step.action_name)
}

/// Whether all words of a call were told; a shell goes without saying.
fn told_of(call: &Call<'_>, told: &HashSet<String>) -> bool {
    let step = call.of.step;
    let arguments = canon::arguments(&step.action_detail);
    let mut named = call.words.clone();
    if effect::runs_command(&step.action_name, arguments.as_ref()) {
        named = words(&canon::values(&step.action_detail, arguments.as_ref()));
    }
    named.len() > 1 && share(&named, told) >= 1.0
}

/// How much a part and a call have in common; of calls that are alike the one that was needed.
fn likeness(part: &HashSet<String>, call: &Call<'_>) -> f32 {
    let both = part.intersection(&call.words).count() as f32;
    let all = part.union(&call.words).count().max(1) as f32;
    both / all + if is_needed(call) { 0.001 } else { 0.0 }
}

/// The share of words, 0 to 1, that stand in others; 0 without words.
fn share(words: &HashSet<String>, others: &HashSet<String>) -> f32 {
    words.intersection(others).count() as f32 / words.len().max(1) as f32
}

fn parts(chosen: &str) -> Vec<&str> {
    THEN.iter().fold(vec![chosen], |parts, by| parts.into_iter().flat_map(|p| p.split(by)).collect())
}

/// Whether the advice says not to do what was chosen, more than what was rejected.
fn negates(claim: &Advice<'_>) -> bool {
    let (chosen, rejected) = (words(claim.chosen), words(&claim.rejected.join(" ")));
    let advice = claim.advice.to_lowercase();
    let clauses = advice.split(['；', ';', '。', '，', ',', '\n']).flat_map(|c| c.split(". "));
    clauses
        .filter_map(|clause| {
            NEVER
                .iter()
                .filter_map(|n| clause.find(n).map(|at| &clause[at + n.len()..]))
                .min_by_key(|s| s.len())
        })
        .map(words)
        .any(|warned| share(&warned, &chosen) >= 0.5 && share(&warned, &chosen) > share(&warned, &rejected))
}

/// Words in lower case, but for those of grammar; of Chinese, pairs of characters.
fn words(text: &str) -> HashSet<String> {
    let mut out = HashSet::new();
    let lower = text.to_lowercase();
    for run in lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| phrase::is_wide(c) != phrase::is_wide(first)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if phrase::is_wide(first) {
                let chars: Vec<char> = word.chars().collect();
                out.extend(chars.windows(chars.len().min(2)).map(String::from_iter));
            } else if !GRAMMAR.split_ascii_whitespace().any(|g| g == word) {
                out.insert(word.to_owned());
            }
            rest = after;
        }
    }
    out
}
