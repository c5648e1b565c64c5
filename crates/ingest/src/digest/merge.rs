//! Consecutive steps of one kind as one: five pods whose logs are read, a state that is polled.

use hindsight_types::{ActionType, AgentId, Step, StepStatus};

use super::{Focus, cut, head_and_tail, shape};

/// One or more consecutive steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// `step_index` of the first and of the last.
    pub first: u32,
    pub last: u32,
    pub action_type: ActionType,
    pub action_name: String,
    pub agent: Option<AgentId>,
    pub status: StepStatus,
    /// The arguments; where one word differs, its values in braces: `logs {web-1, web-2} -n shop`.
    pub detail: String,
    /// What came back, each different answer once with the steps that it answered when they are several.
    pub observation: String,
}

/// Different answers of one group that are shown.
const ANSWERS: usize = 4;

/// Merges consecutive steps that have the same kind of action, tool, agent and status and whose arguments
/// differ in ids and numbers only. Arguments are cut to `detail` bytes; `observe` digests an observation
/// (as [`brief`](super::brief) or [`focused`](super::focused) do), and is asked once for those that say the
/// same. Steps with a decision or a reflection stand alone: what the agent says is about one step.
pub fn merge(
    steps: &[Step],
    task: &str,
    detail: usize,
    observe: impl Fn(&str, &Focus) -> String,
) -> Vec<Merged> {
    let observe = |step: &Step| observe(&step.observation, &Focus::new([task, &*step.action_detail]));
    steps.chunk_by(is_same_kind).map(|group| merged(group, detail, &observe)).collect()
}

fn is_same_kind(a: &Step, b: &Step) -> bool {
    let kind = |s: &Step| (s.action_type, s.status, shape::of(&s.action_detail));
    let alone =
        |s: &Step| s.action_type != ActionType::ToolCall || s.decision.is_some() || !s.reflection.is_empty();
    !alone(a) && !alone(b) && a.action_name == b.action_name && a.agent == b.agent && kind(a) == kind(b)
}

fn merged(group: &[Step], detail: usize, observe: &impl Fn(&Step) -> String) -> Merged {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    Merged {
        first: first.step_index,
        last: last.step_index,
        action_type: first.action_type,
        action_name: first.action_name.clone(),
        agent: first.agent.clone(),
        status: first.status,
        detail: details(group, detail),
        observation: answers(group, observe),
    }
}

fn details(group: &[Step], room: usize) -> String {
    let words: Vec<Vec<&str>> = group.iter().map(|s| s.action_detail.split(' ').collect()).collect();
    let first = &group[0].action_detail;
    let Some(place) = differing(&words).filter(|_| group.len() > 1) else {
        let text = cut::line(first, room, &Focus::default());
        return head_and_tail(&text, room).into_owned();
    };
    let mut values: Vec<&str> = words.iter().map(|w| w[place]).collect();
    values.dedup();
    let braces = format!("{{{}}}", values.join(", "));
    let mut merged = words[0].clone();
    merged[place] = &braces;
    head_and_tail(&merged.join(" "), room).into_owned()
}

/// The one word in which all differ.
fn differing(words: &[Vec<&str>]) -> Option<usize> {
    let first = &words[0];
    if words.iter().any(|w| w.len() != first.len()) {
        return None;
    }
    let mut places = (0..first.len()).filter(|i| words.iter().any(|w| w[*i] != first[*i]));
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

fn answers(group: &[Step], observe: &impl Fn(&Step) -> String) -> String {
    let mut answers: Vec<(u64, &Step, Vec<u32>)> = Vec::new();
    for step in group {
        let key = shape::of(&step.observation);
        match answers.iter_mut().find(|(k, ..)| *k == key) {
            Some((.., steps)) => steps.push(step.step_index),
            None => answers.push((key, step, vec![step.step_index])),
        }
    }
    if let [(_, step, _)] = &answers[..] {
        return observe(step);
    }
    let left = answers.len().saturating_sub(ANSWERS);
    let shown = answers
        .iter()
        .take(ANSWERS)
        .map(|(_, step, steps)| format!("[{}] {}", numbers(steps), observe(step)));
    let mut lines: Vec<String> = shown.collect();
    if left > 0 {
        lines.push(format!("… {left} more answers"));
    }
    lines.join("\n")
}

/// `3–7, 9`.
fn numbers(steps: &[u32]) -> String {
    let runs = steps.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}–{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}
