//! The summary of a run: goal, the path that was needed, dead ends, outcome.

use hindsight_types::{ActionType, Step, StepEvaluation, StepLabel, Trajectory};

use crate::signature;

use super::lesson::summary_word;
use super::phrase::{self, Judged};

/// Longest summary: words, or characters where a language is written without spaces.
const LONGEST: usize = 150;

/// Summary of 100 to 150 words (characters in Chinese); shorter only when the run holds no more.
pub fn summary(t: &Trajectory, labels: &[StepEvaluation]) -> String {
    let goal = phrase::short(&t.task_description, 240);
    let cjk = phrase::is_cjk(&t.task_description);
    let mut text = Budget { left: LONGEST, cjk, text: String::new() };
    let ending = ending(t, cjk);
    text.left = text.left.saturating_sub(length(&ending, cjk));
    text.add(&if cjk { format!("目标：{goal}。") } else { format!("Goal: {goal}") }, 50);
    let all: Vec<Judged<'_>> = phrase::judged(t, labels).collect();
    let path = all.iter().filter(|j| j.verdict.label == StepLabel::Necessary && is_call(j.step));
    text.list(if cjk { "有效步骤：" } else { "Path:" }, path.map(|j| told(j, 60)), 60);
    let dead = all
        .iter()
        .filter(|j| matches!(j.verdict.label, StepLabel::Failed | StepLabel::Misleading) && is_call(j.step));
    text.list(if cjk { "弯路：" } else { "Dead ends:" }, dead.map(|j| dead_end(j)), 45);
    let spare = all.iter().filter(|j| j.verdict.label == StepLabel::Redundant && is_call(j.step));
    text.list(if cjk { "多余：" } else { "Not needed:" }, spare.map(|j| phrase::call(j.step, 40)), 20);
    text.left += length(&ending, cjk);
    text.add(&ending, LONGEST);
    text.text
}

fn is_call(step: &Step) -> bool {
    step.action_type == ActionType::ToolCall
}

/// A call and the first thing it brought.
fn told(j: &Judged<'_>, n: usize) -> String {
    let seen = phrase::short(signature::error_message(&j.step.observation), n);
    let call = phrase::call(j.step, n);
    if seen.is_empty() { call } else { format!("{call} → {seen}") }
}

fn dead_end(j: &Judged<'_>) -> String {
    let why = match j.verdict.label {
        StepLabel::Failed => signature::error_message(&j.step.observation),
        _ => &j.verdict.rationale,
    };
    format!("{} ({})", phrase::call(j.step, 40), phrase::short(why, 80))
}

fn ending(t: &Trajectory, cjk: bool) -> String {
    let said = phrase::short(&t.outcome.conclusion, if cjk { 40 } else { 160 });
    let status = t.outcome.resolved();
    if cjk {
        let word = match summary_word(status) {
            "succeeded" => "成功",
            "partly succeeded" => "部分成功",
            "failed" => "失败",
            _ => "未知",
        };
        return if said.is_empty() {
            format!("结果：{word}。")
        } else {
            format!("结果：{word}，{said}")
        };
    }
    let word = summary_word(status);
    if said.is_empty() { format!("Result: {word}.") } else { format!("Result: {word}. {said}") }
}

/// Words, or characters where there are no spaces.
fn length(text: &str, cjk: bool) -> usize {
    if cjk { text.chars().count() } else { text.split_whitespace().count() }
}

/// Text that grows up to a limit.
struct Budget {
    left: usize,
    cjk: bool,
    text: String,
}

impl Budget {
    /// Adds a sentence, cut to `most` and to what is left.
    fn add(&mut self, sentence: &str, most: usize) {
        let limit = most.min(self.left);
        let cut = if self.cjk {
            signature::head(sentence, limit).to_owned()
        } else {
            sentence.split_whitespace().take(limit).collect::<Vec<_>>().join(" ")
        };
        if cut.is_empty() {
            return;
        }
        self.left -= length(&cut, self.cjk).min(self.left);
        if !self.text.is_empty() && !self.cjk {
            self.text.push(' ');
        }
        self.text.push_str(&cut);
    }

    /// Adds as many whole items as fit into `most`.
    fn list(&mut self, title: &str, items: impl Iterator<Item = String>, most: usize) {
        let stop = if self.cjk { "。" } else { "." };
        let between = if self.cjk { "；" } else { "; " };
        let room = most.min(self.left);
        let mut line = String::new();
        for item in items {
            let grown = if line.is_empty() {
                format!("{title}{}{item}", if self.cjk { "" } else { " " })
            } else {
                format!("{line}{between}{item}")
            };
            if length(&grown, self.cjk) + 1 > room {
                break;
            }
            line = grown;
        }
        if !line.is_empty() {
            self.add(&format!("{line}{stop}"), room);
        }
    }
}
