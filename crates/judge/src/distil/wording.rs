//! The words around what is taken from a run, in the language of its task.

use hindsight_types::{Environment, Trajectory};

use crate::signature;

use super::phrase;

/// Which language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wording {
    pub(super) chinese: bool,
}

impl Wording {
    pub(super) fn of(t: &Trajectory) -> Self {
        Self { chinese: super::is_chinese(t) }
    }

    /// When advice applies: what one sees, or, where nothing was seen, the task.
    pub(super) fn condition(self, symptom: &str, t: &Trajectory) -> String {
        let task = symptom == t.task_description;
        let shown =
            if task { phrase::short(symptom, 160) } else { phrase::short(&signature::undated(symptom), 160) };
        match (task, self.chinese) {
            (true, false) => format!("For a task like \"{shown}\""),
            (false, false) => format!("When you see \"{shown}\""),
            (true, true) => format!("遇到“{shown}”这类任务时"),
            (false, true) => format!("看到“{shown}”时"),
        }
    }

    pub(super) fn answers(self, tool: &str, message: &str) -> String {
        let shown = phrase::short(&signature::undated(message), 160);
        if self.chinese {
            format!("{tool} 返回“{shown}”时")
        } else {
            format!("When {tool} answers \"{shown}\"")
        }
    }

    /// `condition: action.` and, where there is one, what to leave out.
    pub(super) fn advice(self, condition: &str, chosen: &str, skip: Option<&String>) -> String {
        let skip = skip.map(|s| {
            if self.chinese {
                format!("不要做 {s}：没有效果。")
            } else {
                format!(" Skip {s}: it did not help.")
            }
        });
        let skip = skip.unwrap_or_default();
        if self.chinese {
            format!("{condition}：{chosen}。{skip}")
        } else {
            format!("{condition}: {chosen}.{skip}")
        }
    }

    pub(super) fn instead(self, condition: &str, chosen: &str, avoided: &str, why: &str) -> String {
        match self.chinese {
            true if phrase::is_cjk(why) => format!("{condition}：应做 {chosen}，而不是 {avoided}（{why}）。"),
            true => format!("{condition}：应做 {chosen}，而不是 {avoided}。"),
            false => format!("{condition}: {chosen}, not {avoided} ({why})."),
        }
    }

    pub(super) fn situation(self, goal: String, symptom: &str) -> String {
        match (symptom == goal, self.chinese) {
            (true, _) => goal,
            (false, false) => format!("{goal} Seen: {symptom}"),
            (false, true) => format!("{goal} 现象：{symptom}"),
        }
    }

    /// Where a lesson was learned, and that it was tried nowhere else.
    pub(super) fn applicability(self, tools: &str, t: &Trajectory) -> String {
        let Environment { tags, .. } = &t.environment;
        let mut told =
            if self.chinese { format!("适用于使用 {tools}") } else { format!("Where {tools} is used") };
        if !tags.is_empty() {
            let list = tags.join(if self.chinese { "、" } else { ", " });
            told.push_str(&if self.chinese { format!("、环境为 {list}") } else { format!(" on {list}") });
        }
        if let Some(kind) = &t.task_type {
            told.push_str(&if self.chinese {
                format!("、任务类型为 {kind}")
            } else {
                format!(" for tasks of kind {kind}")
            });
        }
        told.push_str(if self.chinese {
            " 的情况；其他情况未验证。"
        } else {
            "; not tried elsewhere."
        });
        told
    }

    pub(super) fn worked(self, path: &str) -> String {
        if self.chinese {
            format!("同一次运行中有效的做法：{path}")
        } else {
            format!("What worked in the same run: {path}")
        }
    }

    pub(super) fn unsolved(self, call: &str, times: usize, message: &str) -> String {
        let message = phrase::short(message, 160);
        match (self.chinese, times) {
            (false, 1) => format!(
                "Do not call {call} again unchanged: it failed and nothing in this run solved it. Check first: {message}"
            ),
            (false, n) => format!(
                "Do not call {call} again unchanged: it failed, {n} times and nothing in this run solved it. Check \
                 first: {message}"
            ),
            (true, 1) => format!("不要原样重试 {call}：失败了，本次运行没有解决。先检查：{message}"),
            (true, n) => format!("不要原样重试 {call}：失败了 {n} 次，本次运行没有解决。先检查：{message}"),
        }
    }

    pub(super) fn then(self) -> &'static str {
        if self.chinese { "，然后 " } else { ", then " }
    }
}
