//! Reads that ask again what was asked before, in other words, and bring nothing that had not been seen.

use std::collections::{HashMap, HashSet};

use crate::effect::Effect;

use super::fate::Fate;
use super::view::View;

/// A call asks again when at most this share of its words is new to its tool…
const NEW_WORDS: f64 = 0.3;
/// …and at most this share of what came back had not been seen before.
const NEW_PIECES: f64 = 0.67;

#[derive(Default)]
struct Line {
    words: HashSet<u64>,
    which: HashSet<u64>,
    pieces: HashSet<u64>,
    last: Option<usize>,
    /// Where the line first brought nothing new.
    stale_since: Option<usize>,
    writes: usize,
}

/// Marks reads that still stand and asked again. Per tool; a change of the world in between starts afresh.
pub(super) fn mark(views: &[View<'_>], fates: &mut [Fate]) {
    let mut lines: HashMap<&str, Line> = HashMap::new();
    let mut writes = 0;
    for (at, view) in views.iter().enumerate().filter(|(_, v)| v.is_tool() && !v.failed()) {
        writes += usize::from(view.writes().is_some());
        if view.effect != Effect::Read || view.asked.is_empty() {
            continue;
        }
        let line = lines.entry(&view.step.action_name).or_default();
        if line.writes != writes {
            *line = Line { writes, ..Line::default() };
        }
        if let Some(before) = line.last
            // The next page, or another order, is another question.
            && view.which.iter().all(|n| line.which.contains(n))
            && share_new(&view.asked, &line.words) <= NEW_WORDS
            && share_new(&view.pieces, &line.pieces) <= NEW_PIECES
        {
            if fates[at] == Fate::Stands {
                fates[at] = Fate::AsksAgain { before, stale_since: line.stale_since };
            }
            line.stale_since = line.stale_since.or(Some(at));
        }
        line.words.extend(&view.asked);
        line.which.extend(&view.which);
        line.pieces.extend(&view.pieces);
        line.last = Some(at);
    }
}

fn share_new(parts: &[u64], seen: &HashSet<u64>) -> f64 {
    let new = parts.iter().filter(|p| !seen.contains(*p)).count();
    if parts.is_empty() { 0.0 } else { new as f64 / parts.len() as f64 }
}
