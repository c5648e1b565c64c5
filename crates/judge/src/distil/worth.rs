//! What makes a lesson worth keeping: a condition one can recognise, an action one can take, something that the
//! task does not say already, and more behind it than one accident.

use std::sync::LazyLock;

use hindsight_types::{Evaluation, OutcomeStatus};
use regex::Regex;

use crate::signature;

/// What of a lesson is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// What one sees when it applies.
    pub(crate) condition: &'a str,
    /// What to do.
    pub(crate) chosen: &'a str,
    pub(crate) rejected: &'a [String],
    pub(crate) task: &'a str,
    /// The task itself is the condition: nothing was seen.
    pub(crate) task_is_condition: bool,
    /// What is advised is the same call that had failed, made again.
    pub(crate) again: bool,
}

/// Words that say nothing one could do.
const EMPTY: &[&str] = &[
    "be careful",
    "be more careful",
    "pay attention",
    "double check",
    "double-check",
    "make sure",
    "try again",
    "try harder",
    "think carefully",
    "next time",
    "best practice",
    "as needed",
    "if necessary",
    "properly",
    "appropriately",
    "in general",
    "小心",
    "注意",
    "谨慎",
    "仔细",
    "认真",
    "下次",
    "再试",
    "多加",
    "妥善",
    "合理",
    "必要时",
    "视情况",
    "尽量",
];
/// Failures that pass by themselves.
static PASSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)timed?[ -]?out|timeout|deadline exceeded|connection (?:reset|closed|aborted)|temporar|try again|too many requests|rate.?limit|\b(?:429|502|503|504)\b|unavailable|网络抖动|超时|繁忙|限流|稍后|暂时",
    )
    .ok()
});

/// Why a lesson is not worth keeping; `None`: it is.
pub(crate) fn lacks(claim: &Claim<'_>) -> Option<&'static str> {
    if says(claim.condition) < 4 {
        return Some("no condition: it names nothing by which one could tell when it applies");
    }
    if !acts(claim.chosen) {
        return Some("no action: it names nothing that one could do");
    }
    if claim.rejected.iter().any(|r| r == claim.chosen) && !claim.again {
        return Some("it advises what it warns of");
    }
    if claim.again && PASSING.as_ref().is_some_and(|p| p.is_match(claim.condition)) {
        return Some(
            "one accident: the failure passed by itself, the same call worked when it was made again",
        );
    }
    if claim.again {
        return Some(
            "one accident: the same call failed once and then worked, nothing was learned of the cause",
        );
    }
    if claim.task_is_condition && repeats(claim.chosen, claim.task) {
        return Some("it repeats the task: what it advises is what was asked for");
    }
    if claim.task_is_condition && claim.rejected.is_empty() {
        return Some(
            "it repeats the task: nothing but the task tells when it applies, and nothing is rejected",
        );
    }
    None
}

/// Why nothing that a run did can be advised; `None`: it can.
pub(crate) fn doubt(evaluation: &Evaluation) -> Option<String> {
    if let Some(contradiction) = evaluation.contradictions.first() {
        return Some(format!(
            "how the run ended is in doubt, so what it did cannot be advised: {contradiction}"
        ));
    }
    let failed = evaluation.outcome == OutcomeStatus::Failure;
    failed.then(|| "the run failed, so what it did cannot be advised".to_owned())
}

/// Letters by which a condition can be told: those of names that differ from run to run, and of mere
/// prepositions, say nothing.
fn says(condition: &str) -> usize {
    const LINKS: [&str; 14] = [
        "since", "when", "after", "before", "until", "from", "with", "for", "the", "at", "on", "in", "of",
        "to",
    ];
    let normal = signature::normalise(condition);
    let named =
        normal.split('<').flat_map(|p| p.split_once('>').map_or(p, |(_, after)| after).split_whitespace());
    let bare = named.map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
    let telling = bare.filter(|w| !LINKS.contains(&w.to_lowercase().as_str()));
    telling.flat_map(str::chars).filter(|c| c.is_alphabetic()).count()
}

/// A concrete action: a call, a command, something by its name; not a mere exhortation.
pub(crate) fn acts(chosen: &str) -> bool {
    let lower = chosen.to_lowercase();
    let words = chosen.split_whitespace().count();
    let concrete =
        chosen.contains(['(', '`', '=', '/', '_', '"', '“']) || chosen.chars().any(|c| c.is_ascii_digit());
    let empty = EMPTY.iter().any(|e| lower.contains(e));
    concrete || (!empty && (words >= 2 || chosen.chars().filter(|c| *c as u32 >= 0x3040).count() >= 4))
}

/// Whether every word of an advice stands in the task.
pub(crate) fn repeats(advice: &str, task: &str) -> bool {
    let task = task.to_lowercase();
    let (mut all, mut new) = (0_usize, 0_usize);
    for word in words(&advice.to_lowercase()) {
        all += 1;
        new += usize::from(!task.contains(&word));
    }
    all > 0 && new * 5 <= all
}

/// Words of three letters or more, numbers and pairs of Chinese characters.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if run.is_ascii() {
            if run.len() >= 3 || run.bytes().all(|b| b.is_ascii_digit()) {
                out.push(run.to_owned());
            }
        } else {
            let chars: Vec<char> = run.chars().collect();
            out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn claim<'a>(condition: &'a str, chosen: &'a str) -> Claim<'a> {
        Claim { condition, chosen, rejected: &[], task: "x", task_is_condition: false, again: false }
    }

    #[rstest]
    #[case("permission denied: /srv/key", "chmod 640 /srv/key", None)]
    #[case("磁盘已满", "清理 /data/binlog", None)]
    #[case("磁盘已满", "下次要更加小心", Some("no action"))]
    #[case("deployment failed", "be careful next time", Some("no action"))]
    #[case("the pod restarts", "make sure everything is properly set up", Some("no action"))]
    #[case("12 / 3", "chmod 640 /srv/key", Some("no condition"))]
    #[case("", "chmod 640 /srv/key", Some("no condition"))]
    #[case("When … since .", "chmod 640 /srv/key", Some("no condition"))]
    fn vague_advice_is_told_from_concrete(
        #[case] condition: &str,
        #[case] chosen: &str,
        #[case] lacking: Option<&str>,
    ) {
        let found = lacks(&claim(condition, chosen));
        assert_eq!(found.map(|f| f.split(':').next().unwrap()), lacking);
    }

    #[test]
    fn what_the_task_says_already_is_no_lesson() {
        let same =
            Claim { task: "Restart the web service on host-7", task_is_condition: true, ..claim("x", "") };
        let restart = Claim { condition: same.task, chosen: "restart(service=web, host=host-7)", ..same };
        assert!(lacks(&restart).unwrap().starts_with("it repeats the task"));
        let more = Claim { chosen: "drain(node=host-7), then restart(web)", ..restart };
        assert!(lacks(&more).unwrap().starts_with("it repeats the task"), "it rejects nothing");
        let rejected = ["reload(web)".to_owned()];
        assert_eq!(lacks(&Claim { rejected: &rejected, ..more }), None);
        assert!(repeats("重启网关服务", "请重启网关服务"));
        assert!(!repeats("清理网关日志", "请重启网关服务"));
    }

    #[rstest]
    #[case("Error: request timed out after 30 s")]
    #[case("错误：连接超时")]
    fn a_failure_that_passed_by_itself_is_an_accident(#[case] condition: &str) {
        let rejected = ["get(url=a)".to_owned()];
        let once = Claim { rejected: &rejected, again: true, ..claim(condition, "get(url=a)") };
        assert!(lacks(&once).unwrap().starts_with("one accident"));
    }
}
