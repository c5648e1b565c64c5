//! What stands around a fact: the turns of its session beside it, two before and one after (measured on
//! conversations: a turn is found far more often with its neighbours than without). A pure function of the
//! turns of a session, so in whichever order and however often they arrive, they end with the same context.

use hindsight_types::{Fact, Timestamp};

/// Turns before a fact that belong to its context.
const BEFORE: usize = 2;
/// Turns after it.
const AFTER: usize = 1;
/// Turns that must be known on each side of a change, so that the context of everything it touches is known.
pub const REACH: usize = BEFORE + AFTER;
/// Longest part of a turn in the context of another, in characters.
const TURN_CHARS: usize = 600;

/// Brings the turns of one session into their order and gives each its surroundings.
pub fn surround(turns: &mut [Fact]) {
    turns.sort_by(|a, b| a.order().cmp(&b.order()));
    let all: Vec<String> = (0..turns.len()).map(|at| surroundings(turns, at)).collect();
    turns.iter_mut().zip(all).for_each(|(turn, surroundings)| turn.surroundings = surroundings);
}

/// The turns whose surroundings change with what was said from `from` to `until`, with their new ones.
/// `turns` are those of the session in that time, with at least [`REACH`] more on each side where there are.
pub fn changed(mut turns: Vec<Fact>, from: Timestamp, until: Timestamp) -> Vec<Fact> {
    turns.sort_by(|a, b| a.order().cmp(&b.order()));
    let first = turns.partition_point(|t| t.occurred_at < from).saturating_sub(AFTER);
    let end = (turns.partition_point(|t| t.occurred_at <= until) + BEFORE).min(turns.len());
    let due = |at: usize| {
        let surroundings = surroundings(&turns, at);
        (turns[at].surroundings != surroundings).then(|| Fact { surroundings, ..turns[at].clone() })
    };
    (first..end).filter_map(due).collect()
}

/// Of the turn at `at`, among turns in order. A context that the caller gave stands alone.
fn surroundings(turns: &[Fact], at: usize) -> String {
    if !turns[at].context.is_empty() {
        return String::new();
    }
    let beside = (at.saturating_sub(BEFORE)..(at + AFTER + 1).min(turns.len())).filter(|i| *i != at);
    let lines = beside.map(|i| line(&turns[i]));
    lines.collect::<Vec<_>>().join("\n")
}

/// A turn as it stands in the context of another: `Ann: I like tea [a green cup]`.
fn line(turn: &Fact) -> String {
    let speaker = if turn.speaker.is_empty() { String::new() } else { format!("{}: ", turn.speaker) };
    let captions = turn.attachments.iter().map(|a| a.caption.as_str()).filter(|c| !c.is_empty());
    let shown: String = captions.map(|c| format!(" [{c}]")).collect();
    hindsight_text::one_line(&format!("{speaker}{}{shown}", turn.content), TURN_CHARS)
}

#[cfg(test)]
mod tests;
