//! What the agent makes of text in its context: the calls that are named there, in order, and those to leave out.
//!
//! It reads as a model would, by the words alone: nothing but the text tells it what to do.

use std::collections::BTreeSet;

use super::catalog::Practice;

/// One thing remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// What to do, in order.
    pub(crate) steps: Vec<Told>,
    /// What was tried in vain.
    pub(crate) avoid: Vec<&'static str>,
    /// It comes from another environment.
    pub(crate) elsewhere: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// A command of the practice.
    pub(crate) command: &'static str,
    /// What it printed then; empty when that is not told.
    pub(crate) result: String,
}

/// All commands that an operator knows for a symptom, and the ruinous one.
pub(crate) fn known(practice: &Practice) -> impl Iterator<Item = &'static str> {
    let checks = practice.checks.iter().map(|check| check.command);
    [practice.status.command, practice.ruinous]
        .into_iter()
        .chain(checks)
        .chain(practice.fixes.iter().copied())
}

/// Reads the block of a recall (`crates/rank/BLOCK.md`, Markdown).
pub(crate) fn of_block(block: &str, practice: &Practice) -> Vec<Advice> {
    let items = block.split("\n### ").skip(1);
    items.map(|item| of_item(item, practice)).filter(|a| *a != Advice::default()).collect()
}

fn of_item(item: &str, practice: &Practice) -> Advice {
    let mut advice = Advice::default();
    let mut helped = Vec::new();
    let mut label = "";
    for line in item.lines() {
        if let Some((name, text)) = line.strip_prefix("- ").and_then(|l| l.split_once(':')) {
            label = name;
            match label {
                "Do" | "Instead" => advised(text, practice, &mut advice),
                "Result" => helped.extend(calls(text, practice)),
                "Called with" => advice.avoid.extend(calls(text, practice)),
                "Caution" => advice.elsewhere |= text.contains("environment"),
                _ => {}
            }
        } else if line.starts_with("  ") {
            // Some labels go on in words of explanation.
            let is = |name: &str| label.starts_with(name);
            if is("Path to follow") || is("What it did") {
                advice.steps.extend(step(line, practice));
            } else if is("Dead ends") || is("Tried in vain") {
                advice.avoid.extend(calls(line, practice));
            }
        }
    }
    first(&helped, practice, &mut advice.steps);
    advice
}

/// Puts what a run says has helped before whatever else it changed.
fn first(helped: &[&'static str], practice: &Practice, steps: &mut Vec<Told>) {
    let rank = |command| match () {
        () if is_look(command, practice) => 0,
        () if helped.contains(&command) => 1,
        () => 2,
    };
    let missing = helped.iter().filter(|command| steps.iter().all(|step| step.command != **command));
    let missing: Vec<Told> = missing.map(|command| Told { command, result: String::new() }).collect();
    steps.extend(missing);
    steps.sort_by_key(|step| rank(step.command));
}

fn is_look(command: &str, practice: &Practice) -> bool {
    command == practice.status.command || practice.checks.iter().any(|check| check.command == command)
}

/// `When you see "…": do this, then that. Skip this: it did not help.`
fn advised(text: &str, practice: &Practice, advice: &mut Advice) {
    let end = [" Skip ", ", not ", "Do not "].iter().filter_map(|word| text.find(word)).min();
    let (good, bad) = text.split_at(end.unwrap_or(text.len()));
    advice
        .steps
        .extend(calls(good, practice).into_iter().map(|command| Told { command, result: String::new() }));
    advice.avoid.extend(calls(bad, practice));
}

/// "5. `tool` call → result · reason".
fn step(line: &str, practice: &Practice) -> Option<Told> {
    let (call, result) = line.split_once(" → ").unwrap_or((line, ""));
    let command = calls(call, practice).into_iter().next()?;
    let result = result.split(" · ").next().unwrap_or_default().to_owned();
    Some(Told { command, result })
}

/// Reads the log of a run as [`super::logs`] writes it. Of a run that worked, what it says has helped is the way, or
/// else what it changed last.
pub(crate) fn of_log(log: &str, practice: &Practice, place: &str) -> Advice {
    let mut advice =
        Advice { elsewhere: !log.contains(&format!("environment: {place}\n")), ..Advice::default() };
    let (log, outcome) = log.split_once("\noutcome: ").unwrap_or((log, ""));
    let mut fixes = Vec::new();
    for entry in log.split("\n$ ").skip(1) {
        let (call, result) = entry.split_once('\n').unwrap_or((entry, ""));
        let Some(command) = calls(call, practice).into_iter().next() else { continue };
        if !is_look(command, practice) {
            fixes.push(command);
        } else if fixes.is_empty() {
            advice.steps.push(Told { command, result: result.to_owned() });
        }
    }
    let mut helped = calls(outcome, practice);
    if outcome.starts_with("success") {
        helped.extend(fixes.last().copied().filter(|_| helped.is_empty()));
        first(&helped, practice, &mut advice.steps);
    } else {
        advice.steps.clear();
    }
    fixes.retain(|fix| !helped.contains(fix));
    advice.avoid = fixes;
    advice
}

/// The known commands that a text names, in order, whatever names and numbers they were called with.
pub(crate) fn calls(text: &str, practice: &Practice) -> Vec<&'static str> {
    let text = words(text);
    let shapes: Vec<(&'static str, Vec<String>)> = known(practice).map(|c| (c, words(c))).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let here = shapes.iter().find(|(_, shape)| fits(shape, &text[at..]));
        found.extend(here.map(|(command, _)| *command));
        at += here.map_or(1, |(_, shape)| shape.len());
    }
    found
}

fn words(text: &str) -> Vec<String> {
    let plain = text.replace(['(', ')', '"', '\'', '`', '\\'], " ");
    let trimmed = |word: &str| word.trim_end_matches(['.', ',', ';', ':']).to_owned();
    plain.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect()
}

fn fits(shape: &[String], text: &[String]) -> bool {
    shape.len() <= text.len() && shape.iter().zip(text).all(|(shape, word)| fits_word(shape, word))
}

/// Whether a word is one of the catalogue with its `{name}` replaced.
fn fits_word(shape: &str, word: &str) -> bool {
    let Some((before, rest)) = shape.split_once('{') else { return shape == word };
    let (Some(word), Some((_, rest))) = (word.strip_prefix(before), rest.split_once('}')) else {
        return false;
    };
    (1..=word.len()).filter(|at| word.is_char_boundary(*at)).any(|at| fits_word(rest, &word[at..]))
}

/// Whether two outputs of the same call say the same: names and numbers aside, the words of the first stand in the
/// second.
pub(crate) fn says_the_same(told: &str, seen: &str) -> bool {
    let (told, seen) = (plain_words(told), plain_words(seen));
    let common = told.iter().filter(|word| seen.contains(*word)).count();
    common * 10 >= told.len() * 7
}

fn plain_words(text: &str) -> BTreeSet<String> {
    let name =
        |word: &&str| word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '/' | '…'));
    let words = text.split_whitespace().filter(|word| !name(word));
    let parts = words.flat_map(|word| word.split(|c: char| !c.is_alphabetic()));
    parts.filter(|part| part.len() > 2).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
