//! What the slice looks at in each step.

use hindsight_text::truncate_chars;
use hindsight_types::{ActionType, Step, StepStatus, Trajectory};

use crate::canon;
use crate::effect::{self, Effect, WriteKind};
use crate::signature;
use crate::token::{TokenId, Tokens};

#[derive(Debug)]
pub(super) struct View<'t> {
    pub(super) step: &'t Step,
    /// Whether the run has several agents, so that a step is named with its own.
    in_team: bool,
    pub(super) effect: Effect,
    /// Same call, same value.
    pub(super) call: u64,
    /// Same result but for the time of day, same value.
    pub(super) result: u64,
    /// The state the result shows, exactly.
    pub(super) state: Option<u64>,
    /// Tokens of the arguments: what the step acts on.
    pub(super) target: Vec<TokenId>,
    /// Tokens of the arguments, the decision and the reflection.
    pub(super) uses: Vec<TokenId>,
    /// Tool and named thing, for writes that put a thing into a state.
    pub(super) identity: Option<u64>,
    /// What the tool's name says it acts on.
    pub(super) nouns: Vec<String>,
    /// The lines of trouble in the result.
    pub(super) troubles: Vec<Trouble>,
    /// Words of the arguments, and pieces of the result, as hashes: what was asked, and what came back.
    pub(super) asked: Vec<u64>,
    /// Numbers and ids of the arguments: which page, which order.
    pub(super) which: Vec<u64>,
    pub(super) pieces: Vec<u64>,
}

/// Most lines of trouble kept per step.
const TROUBLES: usize = 8;

/// A line of a result that speaks of trouble.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    /// The same trouble at another time, or of another instance, has the same kind.
    pub(super) kind: u64,
    /// The line itself, when it carries a time: seen again it is old.
    pub(super) dated: Option<u64>,
}

fn troubles(observation: &str) -> Vec<Trouble> {
    let lines = signature::lines(observation).into_iter().filter(|l| signature::is_trouble(l));
    lines
        .take(TROUBLES)
        .map(|line| {
            let line = truncate_chars(&line, 400);
            let normal = signature::normalise(line);
            let dated = normal.contains("<time>").then(|| canon::hash_of(line));
            Trouble { kind: canon::hash_of((normal, signature::word_of_trouble(line))), dated }
        })
        .collect()
}

impl<'t> View<'t> {
    pub(super) fn all(t: &'t Trajectory, tokens: &mut Tokens) -> Vec<Self> {
        let mut agents: Vec<&str> =
            t.steps.iter().filter_map(|s| s.agent.as_ref()).map(|a| a.as_str()).collect();
        agents.dedup();
        let in_team = agents.len() > 1;
        let mut views: Vec<Self> = t.steps.iter().map(|s| Self { in_team, ..Self::of(s, tokens) }).collect();
        // Who hands something over and goes on working has done something, and not concluded.
        let last_call = views.iter().rposition(Self::is_tool).unwrap_or(0);
        for view in views[..last_call].iter_mut().filter(|v| v.effect == Effect::Finish) {
            view.effect = Effect::Write(WriteKind::Create);
        }
        views
    }

    fn of(step: &'t Step, tokens: &mut Tokens) -> Self {
        let arguments = canon::arguments(&step.action_detail);
        let tool = step.action_type == ActionType::ToolCall;
        let effect = if tool {
            effect::classify_call(
                &step.action_name,
                &step.action_detail,
                arguments.as_ref(),
                &step.observation,
            )
        } else {
            Effect::Think
        };
        let values = canon::values(&step.action_detail, arguments.as_ref());
        let target = if tool && effect != Effect::Think {
            tokens.of_arguments(&values, effect::runs_command(&step.action_name, arguments.as_ref()))
        } else {
            tokens.of_prose(&values)
        };
        let target: Vec<TokenId> =
            target.into_iter().filter(|t| tokens.text(*t) != step.action_name).collect();
        let mut uses = target.clone();
        // What a decision rejects was not used.
        let decision = step.decision.iter().flat_map(|d| [d.chosen.as_str(), d.rationale.as_str()]);
        for text in decision.chain([step.reflection.as_str()]) {
            uses.extend(tokens.of_prose(text));
        }
        let ids = arguments.as_ref().map(canon::identity).unwrap_or_default();
        Self {
            step,
            in_team: false,
            effect,
            call: canon::call(step, arguments.as_ref()),
            result: canon::result(&step.observation),
            state: canon::state(&step.observation),
            target,
            uses,
            identity: (!ids.is_empty()).then(|| canon::hash_of((&step.action_name, ids))),
            nouns: if tool { effect::nouns(&step.action_name) } else { Vec::new() },
            troubles: if tool && effect != Effect::Think { troubles(&step.observation) } else { Vec::new() },
            asked: if effect == Effect::Read {
                canon::words(&step.action_detail, arguments.as_ref())
            } else {
                Vec::new()
            },
            which: if effect == Effect::Read { canon::numbers(&values) } else { Vec::new() },
            pieces: if effect == Effect::Read { canon::pieces(&step.observation) } else { Vec::new() },
        }
    }

    /// The agent that acted, in a run of several.
    pub(super) fn speaker(&self) -> Option<&'t str> {
        self.step.agent.as_ref().filter(|_| self.in_team).map(|a| a.as_str())
    }

    pub(super) fn is_tool(&self) -> bool {
        self.step.action_type == ActionType::ToolCall
    }

    pub(super) fn is_user(&self) -> bool {
        self.step.action_type == ActionType::UserInput
    }

    pub(super) fn is_words(&self) -> bool {
        self.step.action_type == ActionType::LlmReasoning
    }

    /// What was thought before or after the step, in words.
    pub(super) fn thoughts(&self) -> impl Iterator<Item = &'t str> {
        let said = self.is_words().then_some(self.step.action_detail.as_str());
        let why = self.step.decision.as_ref().map(|d| d.rationale.as_str());
        [said, why, Some(self.step.reflection.as_str())].into_iter().flatten()
    }

    pub(super) fn failed(&self) -> bool {
        self.step.status == StepStatus::Error
    }

    /// A call that came back without an error and changed something.
    pub(super) fn writes(&self) -> Option<WriteKind> {
        match self.effect {
            Effect::Write(kind) if !self.failed() => Some(kind),
            _ => None,
        }
    }

    /// Whether a step looks at what a change was made to: the same thing, a folder around it, or everything.
    pub(super) fn looks_at(&self, write: &View<'_>, tokens: &Tokens) -> bool {
        let around = |t: &TokenId| {
            let folder = tokens.text(*t);
            folder.contains('/') && write.target.iter().any(|w| tokens.text(*w).starts_with(folder))
        };
        self.target.is_empty() || self.target.iter().any(|t| write.target.contains(t) || around(t))
    }

    /// How the step is named in a rationale: `step 7 (cancel_reservation)`, `step 3 (words of Planner)`.
    pub(super) fn named(&self) -> String {
        let n = self.step.step_index;
        let tool = truncate_chars(&self.step.action_name, 60);
        match (self.step.action_type, self.speaker()) {
            (ActionType::ToolCall, None) => format!("step {n} ({tool})"),
            (ActionType::ToolCall, Some(agent)) => format!("step {n} ({tool} by {agent})"),
            (ActionType::LlmReasoning, None) => format!("step {n} (the agent's words)"),
            (ActionType::LlmReasoning, Some(agent)) => format!("step {n} (words of {agent})"),
            (ActionType::UserInput, _) => format!("step {n} (the user's words)"),
        }
    }
}
