//! Reduces an observation to what a judge or a reader needs of it, within a budget of bytes.
//!
//! Each kind of output gives up its own: JSON its key fields, lists a sample and a count; tables their names
//! and states, unhealthy rows first; logs the lines of trouble with three lines around, repeats counted,
//! stack traces folded; web pages their text; diffs their changed lines. What the call and the task name
//! (the [`Focus`]) goes before what they do not. Redaction comes first.
//!
//! ```text
//! digest::observation(text, budget)            a digest of at most `budget` bytes
//! digest::focused(text, budget, &focus)        the same, with what was asked for
//! digest::brief(text, &focus)                  a tenth, and what is wrong in a few lines
//! digest::trajectory(run)                      every step of a run, in bounded space
//! digest::merge(&steps, task, detail, observe) consecutive steps of one kind as one
//! ```
//!
//! Time grows near linearly with the text; beside it, memory is bounded (JSON: by an outline of it).

mod cut;
mod describe;
mod diff;
mod focus;
mod html;
mod json;
mod lines;
mod merge;
mod pool;
mod shape;
mod sketch;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod trouble;

use std::borrow::Cow;

use hindsight_types::{Step, Trajectory};
use pool::Room;

pub use focus::Focus;
pub use merge::{Merged, merge};

/// What the observations and the arguments of a stored run may weigh together.
const RUN_BYTES: usize = 256 * 1024;
const OBSERVATION_BYTES: usize = 2_000;
/// However many steps a run has, each keeps this much.
const LEAST_BYTES: usize = 96;
/// The least that [`brief`] makes of a longer text: a name and a state.
const BRIEF_BYTES: usize = 40;
/// A line that is read at a glance; [`brief`] leaves it alone.
const GLANCE_BYTES: usize = 100;
/// What trouble may take in [`brief`] where a tenth is less.
const TROUBLE_BYTES: usize = 512;
/// Texts in texts (JSON in a field of JSON) that are followed.
const NESTED: u8 = 2;

/// The run with each observation digested and long arguments cut; a call that repeats the one before it
/// refers to it. Steps keep their index, so an evaluation of the whole run fits the digest.
pub fn trajectory(mut t: Trajectory) -> Trajectory {
    let share = RUN_BYTES / t.steps.len().max(1);
    let budget = share.clamp(LEAST_BYTES, OBSERVATION_BYTES);
    let repeats: Vec<bool> = t.steps.windows(2).map(|pair| repeats(&pair[0], &pair[1])).collect();
    for step in &mut t.steps {
        if step.observation.len() > budget {
            let focus = Focus::new([&*t.task_description, &*step.action_detail]);
            shorten(&mut step.observation, |text| focused(text, budget, &focus));
        }
        shorten(&mut step.action_detail, |text| head_and_tail(text, budget));
        shorten(&mut step.reflection, |text| head_and_tail(text, budget));
    }
    for i in (1..t.steps.len()).filter(|i| repeats[i - 1]) {
        t.steps[i].observation = format!("same as step {}", t.steps[i - 1].step_index);
    }
    t
}

fn repeats(a: &Step, b: &Step) -> bool {
    !b.observation.is_empty()
        && (&a.action_name, &a.action_detail, &a.observation)
            == (&b.action_name, &b.action_detail, &b.observation)
}

fn shorten(text: &mut String, how: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(shorter) = how(text) {
        *text = shorter;
    }
}

/// `text` in at most `budget` bytes (at least 96 are used). Text that fits is left as it is.
pub fn observation(text: &str, budget: usize) -> Cow<'_, str> {
    focused(text, budget, &Focus::default())
}

/// As [`observation`]; rows and lines that hold what was asked for go before others.
pub fn focused<'a>(text: &'a str, budget: usize, focus: &Focus) -> Cow<'a, str> {
    reduce(text, Room::of(budget.max(LEAST_BYTES)), focus, 0)
}

/// What matters of `text`: at most a tenth of its bytes (40 of a shorter one), and up to 512 bytes where
/// trouble is reported. Text of at most 100 bytes is left as it is.
pub fn brief<'a>(text: &'a str, focus: &Focus) -> Cow<'a, str> {
    if text.len() <= GLANCE_BYTES {
        return Cow::Borrowed(text);
    }
    let all = (text.len() / 10).max(BRIEF_BYTES);
    reduce(text, Room { all, trouble: all.max(TROUBLE_BYTES) }, focus, 0)
}

fn reduce<'a>(text: &'a str, room: Room, focus: &Focus, nested: u8) -> Cow<'a, str> {
    if text.len() <= room.all {
        return Cow::Borrowed(text);
    }
    let json = if nested <= NESTED { json::digest(text, room, focus, nested) } else { None };
    let reduced = match json {
        Some(digest) => digest,
        None if html::is_page(text) => lines::digest(&html::text(text), room, focus),
        None if json::is_like(text) => lines::digest(&json::pieces(text), room, focus),
        None => lines::digest(text, room, focus),
    };
    match reduced.len() {
        0 => head_and_tail(text, room.all),
        n if n >= text.len() => Cow::Borrowed(text),
        n if n <= room.most() => Cow::Owned(reduced),
        _ => Cow::Owned(head_and_tail(&reduced, room.most()).into_owned()),
    }
}

/// Two thirds of the budget from the beginning, one third from the end.
pub fn head_and_tail(text: &str, budget: usize) -> Cow<'_, str> {
    if text.len() <= budget {
        return Cow::Borrowed(text);
    }
    if budget < 64 {
        let head = &text[..text.floor_char_boundary(budget.saturating_sub("…".len()))];
        return Cow::Owned(format!("{head}…"));
    }
    let room = budget.saturating_sub(40);
    let head = &text[..text.floor_char_boundary(room * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    Cow::Owned(format!("{head}\n… {} bytes left out …\n{tail}", text.len() - head.len() - tail.len()))
}
