//! Reduces an observation to what a judge or a reader needs of it, within a budget of bytes.

mod json;
mod log;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use hindsight_types::{Step, Trajectory};

/// What the observations and the arguments of a stored run may weigh together.
const RUN_BYTES: usize = 256 * 1024;
const OBSERVATION_BYTES: usize = 2_000;
/// However many steps a run has, each keeps this much.
const LEAST_BYTES: usize = 96;

/// The run with each observation digested and long arguments cut; a call that repeats the one before it
/// refers to it. Steps keep their index, so an evaluation of the whole run fits the digest.
pub fn trajectory(mut t: Trajectory) -> Trajectory {
    let share = RUN_BYTES / t.steps.len().max(1);
    let budget = share.clamp(LEAST_BYTES, OBSERVATION_BYTES);
    let repeats: Vec<bool> = t.steps.windows(2).map(|pair| repeats(&pair[0], &pair[1])).collect();
    for step in &mut t.steps {
        shorten(&mut step.action_detail, budget, head_and_tail);
        shorten(&mut step.observation, budget, observation);
        shorten(&mut step.reflection, budget, head_and_tail);
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

fn shorten(text: &mut String, budget: usize, how: impl Fn(&str, usize) -> Cow<'_, str>) {
    if let Cow::Owned(shorter) = how(text, budget) {
        *text = shorter;
    }
}

/// `text` in at most `budget` bytes (at least 96 are used). Text that fits is left as it is.
pub fn observation(text: &str, budget: usize) -> Cow<'_, str> {
    let budget = budget.max(LEAST_BYTES);
    if text.len() <= budget {
        return Cow::Borrowed(text);
    }
    let reduced = json::digest(text, budget)
        .or_else(|| table::digest(text, budget))
        .or_else(|| log::digest(text, budget));
    match reduced {
        Some(r) if r.len() <= budget => Cow::Owned(r),
        Some(r) => Cow::Owned(head_and_tail(&r, budget).into_owned()),
        None => head_and_tail(text, budget),
    }
}

/// Two thirds of the budget from the beginning, one third from the end.
pub fn head_and_tail(text: &str, budget: usize) -> Cow<'_, str> {
    if text.len() <= budget {
        return Cow::Borrowed(text);
    }
    let room = budget.saturating_sub(40);
    let head = &text[..text.floor_char_boundary(room * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    Cow::Owned(format!("{head}\n… {} bytes left out …\n{tail}", text.len() - head.len() - tail.len()))
}

/// Whether a line or a value speaks of trouble.
fn is_trouble(line: &str) -> bool {
    use std::sync::LazyLock;

    use regex::bytes::Regex;
    static TROUBLE: LazyLock<Regex> = LazyLock::new(|| {
        crate::pattern::compile(concat!(
            r"(?i)error|exception|fatal|panic|fail|traceback|critical|crash|oomkill|out of memory|backoff|evict|refused",
            r"|denied|timeout|timed out|unhealthy|not ?ready|unavailable|unable|cannot|invalid|not found|pending|terminat(?:ed|ing)",
            r"|\b[45][0-9]{2}\b|[^/]unreachable|exited|killed|warn|no space|100%|错误|失败|异常|超时|拒绝|不可用|告警|崩溃|重启",
        ))
    });
    TROUBLE.is_match(line.as_bytes())
}
