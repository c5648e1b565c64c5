//! Who does what in a run of several agents.

use std::collections::{HashMap, HashSet};

use super::view::View;

/// An agent coordinates when it only speaks, the others act, and the turn comes back to it again and again:
/// at least this often.
const RETURNS: usize = 2;

/// The agent that hands out the work, where there is one.
pub(super) fn coordinator<'v>(views: &[View<'v>]) -> Option<&'v str> {
    let speaker = |v: &View<'v>| v.step.agent.as_ref().map(|a| a.as_str());
    let acting: HashSet<&str> = views.iter().filter(|v| v.is_tool()).filter_map(speaker).collect();
    let mut turns: Vec<&str> = views.iter().filter(|v| !v.is_user()).filter_map(speaker).collect();
    turns.dedup();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for turn in &turns {
        *count.entry(turn).or_default() += 1;
    }
    let (name, taken) = count.into_iter().max_by_key(|(name, n)| (*n, *name))?;
    // Every other turn is its own.
    let central = taken > RETURNS && taken * 2 >= turns.len() && !acting.contains(name);
    (central && !acting.is_empty()).then_some(name)
}
