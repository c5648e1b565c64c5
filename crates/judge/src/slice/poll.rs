//! Loops that wait: the same look again and again until what it shows has changed.

use std::collections::HashMap;

use crate::effect::Effect;

use super::fate::Fate;
use super::view::View;

/// So many equal looks between two changes of the world are a loop.
const LOOP: usize = 3;

/// Marks the looks of a loop between its first, which showed the state, and its last, which showed that the
/// waiting was over.
pub(super) fn mark(views: &[View<'_>], fates: &mut [Fate]) {
    let mut loops: HashMap<(u64, usize), Vec<usize>> = HashMap::new();
    let mut writes = 0;
    for (at, view) in views.iter().enumerate().filter(|(_, v)| v.is_tool() && !v.failed()) {
        writes += usize::from(view.writes().is_some());
        if view.effect == Effect::Read {
            loops.entry((view.call, writes)).or_default().push(at);
        }
    }
    for looks in loops.into_values().filter(|l| l.len() >= LOOP) {
        let Some((last, middle)) = looks[1..].split_last() else { continue };
        for at in middle {
            if fates[*at] == Fate::Stands {
                fates[*at] = Fate::Waits(*last);
            }
        }
    }
}
