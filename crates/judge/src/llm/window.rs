//! Long runs are asked about in parts.
//!
//! The rule: entries are taken in order until a window's budget is full; then the next window begins. Each window also
//! shows the two entries before it and the last three of the run, which are not asked about, since a step
//! is judged by what came of it.

use std::ops::Range;

use super::{entry::Entry, prompt};

/// Entries shown before a window, and of the end of the run.
const BEFORE: usize = 2;
const ENDING: usize = 3;

/// Which entries a question shows and which it asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) asked: Range<usize>,
    pub(super) before: Range<usize>,
    pub(super) ending: Range<usize>,
}

/// Every entry is asked about in exactly one window. A single entry fits every budget.
pub(super) fn cut(entries: &[Entry], budget: usize) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut from, mut filled) = (0, 0);
    for (at, entry) in entries.iter().enumerate() {
        let weight = prompt::tokens(&entry.line);
        if at > from && filled + weight > budget {
            windows.push(window(from..at, entries.len()));
            (from, filled) = (at, 0);
        }
        filled += weight;
    }
    if from < entries.len() {
        windows.push(window(from..entries.len(), entries.len()));
    }
    windows
}

fn window(asked: Range<usize>, all: usize) -> Window {
    let before = asked.start.saturating_sub(BEFORE)..asked.start;
    let ending = asked.end.max(all.saturating_sub(ENDING))..all;
    Window { asked, before, ending }
}
