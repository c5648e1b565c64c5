//! A rule in words, English or Chinese as its tasks are.

use hindsight_types::OutcomeStatus;

/// Characters of the goal.
pub(super) const GOAL: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    English,
    Chinese,
}

impl Wording {
    pub(super) fn of(text: &str) -> Self {
        if hindsight_text::mostly_cjk(text) { Self::Chinese } else { Self::English }
    }

    pub(super) fn then(self) -> &'static str {
        match self {
            Self::English => ", then ",
            Self::Chinese => "，然后 ",
        }
    }

    pub(super) fn advice(self, goal: &str, chosen: &str, rejected: &[String]) -> String {
        let skip = rejected.first();
        match self {
            Self::English => {
                let skip = skip.map(|s| format!(" Skip {s}: it led nowhere in several runs."));
                format!("When the task is \"{goal}\": {chosen}.{}", skip.unwrap_or_default())
            }
            Self::Chinese => {
                let skip = skip.map(|s| format!("不要做 {s}：多次运行都没有效果。"));
                format!("任务为“{goal}”时：{chosen}。{}", skip.unwrap_or_default())
            }
        }
    }

    pub(super) fn rationale(self, runs: usize) -> String {
        match self {
            Self::English => format!("all of {runs} runs needed these steps, in this order"),
            Self::Chinese => format!("{runs} 次运行都需要这些步骤，顺序相同"),
        }
    }

    pub(super) fn result(self, outcome: OutcomeStatus, runs: usize) -> String {
        let partly = outcome == OutcomeStatus::Partial;
        match self {
            Self::English => {
                format!("{} in {runs} runs", if partly { "partly succeeded" } else { "succeeded" })
            }
            Self::Chinese => format!("{runs} 次运行{}成功", if partly { "部分" } else { "均" }),
        }
    }

    /// `tags`: where it was done, with in how many runs.
    pub(super) fn applicability(self, tags: &[(String, usize)], task: Option<&str>) -> String {
        let named = |(tag, runs): &(String, usize)| match self {
            Self::English => format!("{tag} ({runs} runs)"),
            Self::Chinese => format!("{tag}（{runs} 次）"),
        };
        let places: Vec<String> = tags.iter().map(named).collect();
        match self {
            Self::English => {
                let kind = task.map(|t| format!("For tasks of kind {t}. ")).unwrap_or_default();
                match places.is_empty() {
                    true => format!("{kind}The environment of the runs is not known."),
                    false => format!("{kind}Done on {}; not tried elsewhere.", places.join(", ")),
                }
            }
            Self::Chinese => {
                let kind = task.map(|t| format!("适用于任务类型 {t}。")).unwrap_or_default();
                match places.is_empty() {
                    true => format!("{kind}运行环境未知。"),
                    false => format!("{kind}曾用于 {}；其他环境未验证。", places.join("、")),
                }
            }
        }
    }
}
