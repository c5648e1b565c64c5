use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use hindsight_types::{
    Environment, FailurePattern, Memory, MemoryId, MemoryKind, ReceiptId, ReminderTrigger, Timestamp, Viewer,
    Withheld, WithheldReason,
};

use super::{Likeness, Policy, Said, Warning, intent::Topic, warning};
use crate::{Ranked, Settings, block::Style};

/// Messages of the user that a question may lean on.
const RECENT: usize = 5;
/// Memories of one reminder, and of one that comes after a failure: it interrupts.
const MEMORIES: usize = 3;
const CORRECTIONS: usize = 2;
/// Most that is remembered of what was withheld.
const HELD: usize = 1_000;

/// What happens to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It begins. `goal` may be empty.
    Start { goal: String },
    /// A tool is about to be called.
    BeforeCall { tool: String },
    /// A call failed: what was called, and its error in a line.
    Failed { tool: String, arguments: String, error: String },
    /// The user said something.
    Message { text: String },
    /// Something that asks for nothing: a call that succeeded, feedback, the end.
    Other,
}

/// Why an event is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NotStarted,
    StartedBefore,
}

/// What is to be done about an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Silent(Hush),
    /// Look for known failures like the call, and hand them to [`Watch::compared`].
    Compare,
    /// Recall, without what was said, and hand the result to [`Watch::found`].
    Search(Question),
}

/// What is to be recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub trigger: ReminderTrigger,
    pub query: String,
    /// What was said just before, the last turn last.
    pub recent: Vec<String>,
    pub kinds: Vec<MemoryKind>,
    /// Most items.
    pub limit: usize,
    /// Similarity that the best of a kind must reach. `None`: as for any recall.
    pub floor: Option<f32>,
    /// The tool that failed; empty for the other triggers.
    pub tool: String,
}

/// Why nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hush {
    NotAsked,
    NothingKnown,
    BelowThreshold,
    Budget,
    CoolDown,
    /// By this reminder.
    SaidBefore(ReceiptId),
}

/// On whose behalf, where and when something is said.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub now: Timestamp,
    pub environment: &'a Environment,
    pub style: Style,
    pub token_budget: usize,
    /// Of the reminder that may come of it.
    pub receipt: ReceiptId,
}

/// What was decided about known failures.
#[derive(Debug)]
pub struct Verdict {
    pub said: Result<Warning, Hush>,
    pub withheld: Vec<Withheld>,
    /// Whether any of it was not withheld for the same reason before.
    pub news: bool,
}

/// A reminder that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// Reminders that are left.
    pub left: u32,
}

/// What was decided about what a recall gave.
pub type Found = Result<Spoken, Hush>;

/// The state of one stream.
#[derive(Debug)]
pub struct Watch {
    policy: Policy,
    viewer: Viewer,
    started: bool,
    left: u32,
    said: Arc<Said>,
    /// When a trigger last spoke about a tool.
    spoke: BTreeMap<(ReminderTrigger, String), Timestamp>,
    held: BTreeSet<(MemoryId, WithheldReason)>,
    topic: Topic,
    heard: VecDeque<String>,
}

impl Watch {
    /// `reminders`: what the caller wants at most; 0 for what the policy allows.
    pub fn new(policy: Policy, viewer: Viewer, reminders: u32) -> Self {
        let left = if reminders == 0 { policy.reminders } else { reminders.min(policy.reminders) };
        Self {
            policy,
            viewer,
            started: false,
            left,
            said: Arc::default(),
            spoke: BTreeMap::new(),
            held: BTreeSet::new(),
            topic: Topic::default(),
            heard: VecDeque::new(),
        }
    }

    /// What was said so far; a recall is to leave it out.
    pub fn said(&self) -> &Arc<Said> {
        &self.said
    }

    /// Reminders that are left.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Takes in an event. It must be answered before the next one.
    pub fn on(&mut self, event: Event, now: Timestamp) -> Result<Next, Refusal> {
        match (&event, self.started) {
            (Event::Start { .. }, true) => return Err(Refusal::StartedBefore),
            (Event::Start { .. }, false) => self.started = true,
            (_, false) => return Err(Refusal::NotStarted),
            (_, true) => {}
        }
        Ok(match event {
            Event::Start { goal } => self.start(goal, now),
            Event::BeforeCall { .. } => Next::Compare,
            Event::Failed { tool, arguments, error } => self.failed(tool, &arguments, &error, now),
            Event::Message { text } => self.message(text, now),
            Event::Other => Next::Silent(Hush::NotAsked),
        })
    }

    fn start(&mut self, goal: String, now: Timestamp) -> Next {
        self.topic.turns(&goal);
        if goal.trim().is_empty() {
            return Next::Silent(Hush::NotAsked);
        }
        self.hear(&goal);
        // The task is what the agent is here for: as if it had asked.
        self.ask(ReminderTrigger::TaskStart, String::new(), goal, now, None)
    }

    fn failed(&mut self, tool: String, arguments: &str, error: &str, now: Timestamp) -> Next {
        let query = format!("{tool}: {error}\n{arguments}");
        self.ask(ReminderTrigger::AfterFailure, tool, query, now, Some(self.policy.floor))
    }

    fn message(&mut self, text: String, now: Timestamp) -> Next {
        let recent: Vec<String> = self.heard.iter().cloned().collect();
        let turns = self.topic.turns(&text);
        self.hear(&text);
        if super::asks(&text) {
            match self.ask(ReminderTrigger::Asked, String::new(), text, now, None) {
                Next::Search(question) => Next::Search(Question { recent, ..question }),
                silent => silent,
            }
        } else if turns {
            self.ask(ReminderTrigger::TaskStart, String::new(), text, now, Some(self.policy.floor))
        } else {
            Next::Silent(Hush::NotAsked)
        }
    }

    fn hear(&mut self, text: &str) {
        const CHARS: usize = 4_000;
        self.heard.push_back(hindsight_text::truncate_chars(text, CHARS).to_owned());
        if self.heard.len() > RECENT {
            self.heard.pop_front();
        }
    }

    fn ask(
        &self,
        trigger: ReminderTrigger,
        tool: String,
        query: String,
        now: Timestamp,
        floor: Option<f32>,
    ) -> Next {
        if let Some((hush, _)) = self.closed(trigger, &tool, now) {
            return Next::Silent(hush);
        }
        let facts = self.viewer.user.is_some()
            && matches!(trigger, ReminderTrigger::TaskStart | ReminderTrigger::Asked);
        // What is known to fail is said when it is about to be done: there it helps, at the start hardly.
        let failures = trigger != ReminderTrigger::TaskStart;
        let kinds = [
            (MemoryKind::Fact, facts),
            (MemoryKind::Experience, true),
            (MemoryKind::Lesson, true),
            (MemoryKind::FailurePattern, failures),
        ];
        let kinds = kinds.into_iter().filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect();
        let limit = if trigger == ReminderTrigger::AfterFailure { CORRECTIONS } else { MEMORIES };
        Next::Search(Question { trigger, query, recent: Vec::new(), kinds, limit, floor, tool })
    }

    /// Why nothing may be said now, whatever it is.
    fn closed(&self, trigger: ReminderTrigger, tool: &str, now: Timestamp) -> Option<(Hush, WithheldReason)> {
        if self.left == 0 {
            return Some((Hush::Budget, WithheldReason::Reminders));
        }
        let waits = matches!(trigger, ReminderTrigger::BeforeCall | ReminderTrigger::AfterFailure);
        let spoke = self.spoke.get(&(trigger, tool.to_owned())).filter(|_| waits)?;
        let cool = i128::try_from(self.policy.cool_down.as_nanos()).unwrap_or(i128::MAX);
        (now.as_nanosecond().saturating_sub(spoke.as_nanosecond()) < cool)
            .then_some((Hush::CoolDown, WithheldReason::CoolDown))
    }

    fn speak<'a>(
        &mut self,
        trigger: ReminderTrigger,
        tool: &str,
        memories: impl Iterator<Item = &'a Memory>,
        receipt: ReceiptId,
        now: Timestamp,
    ) -> Spoken {
        let said = Arc::make_mut(&mut self.said);
        memories.for_each(|memory| said.add(memory, receipt));
        self.spoke.insert((trigger, tool.to_owned()), now);
        self.left -= 1;
        Spoken { left: self.left }
    }

    /// Decides on what a recall gave: `items` as they stand in its block, `withheld` as in its receipt. Whatever was
    /// said before or is not the viewer's to see must not be among the items, and the block is not said if it is.
    pub fn found(
        &mut self,
        question: &Question,
        items: &[Ranked],
        withheld: &[Withheld],
        receipt: ReceiptId,
        now: Timestamp,
    ) -> Found {
        if let Some((hush, _)) = self.closed(question.trigger, &question.tool, now) {
            return Err(hush);
        }
        if let Some(by) = items.iter().find_map(|item| self.said.by(&item.memory)) {
            return Err(Hush::SaidBefore(by));
        }
        if items.is_empty() || !items.iter().all(|item| self.viewer.may_see(item.memory.scope())) {
            let mut said = withheld.iter().filter(|w| w.reason == WithheldReason::SaidBefore).peekable();
            return Err(match (withheld.is_empty(), said.peek().is_some()) {
                (true, _) => Hush::NothingKnown,
                (false, false) => Hush::BelowThreshold,
                (false, true) => {
                    Hush::SaidBefore(said.find_map(|w| self.said.by_id(w.memory_id)).unwrap_or(receipt))
                }
            });
        }
        Ok(self.speak(question.trigger, &question.tool, items.iter().map(|i| &i.memory), receipt, now))
    }

    /// Decides on known failures that a call is like: warns of one, at most.
    pub fn compared(
        &mut self,
        tool: &str,
        call: &str,
        found: Vec<Likeness>,
        settings: &Settings,
        moment: &Moment<'_>,
    ) -> Verdict {
        let (mut said, mut withheld, mut hushed, mut news) = (None, Vec::new(), Vec::new(), false);
        for Likeness { pattern, alike } in found {
            if !self.viewer.may_see(&pattern.scope) {
                continue;
            }
            let item = warning::rank(FailurePattern::clone(&pattern), alike, call, settings, moment);
            let why = match self.bar(&item, tool, moment.now) {
                None if said.is_some() => (Hush::BelowThreshold, WithheldReason::Budget),
                None => match warning::render(&item, call, moment) {
                    Some(warning) => {
                        said = Some(warning);
                        continue;
                    }
                    None => (Hush::BelowThreshold, WithheldReason::TokenBudget),
                },
                Some(why) => why,
            };
            news |= self.held.len() < HELD && self.held.insert((item.memory.id(), why.1));
            hushed.push(why.0);
            withheld.push(Withheld {
                memory_id: item.memory.id(),
                kind: item.memory.kind(),
                score: item.factors.total(),
                reason: why.1,
                instead: None,
            });
        }
        let said = match said {
            Some(warning) => {
                let memory = std::iter::once(&warning.item.memory);
                self.speak(ReminderTrigger::BeforeCall, tool, memory, moment.receipt, moment.now);
                Ok(warning)
            }
            // The one that came farthest.
            None => Err(hushed.into_iter().max().unwrap_or(Hush::NothingKnown)),
        };
        Verdict { said, withheld, news }
    }

    /// Why a known failure is not said, if it is not.
    fn bar(&self, item: &Ranked, tool: &str, now: Timestamp) -> Option<(Hush, WithheldReason)> {
        let Memory::FailurePattern(pattern) = &item.memory else {
            return Some((Hush::NothingKnown, WithheldReason::BelowFloor));
        };
        let factors = &item.factors;
        let near = factors.similarity * factors.environment >= self.policy.alike;
        if !near || factors.reliability < self.policy.reliability || pattern.suggestion.trim().is_empty() {
            return Some((Hush::BelowThreshold, WithheldReason::BelowFloor));
        }
        if super::times(pattern, now) < self.policy.min_times {
            return Some((Hush::BelowThreshold, WithheldReason::TooRare));
        }
        if let Some(by) = self.said.by(&item.memory) {
            return Some((Hush::SaidBefore(by), WithheldReason::SaidBefore));
        }
        self.closed(ReminderTrigger::BeforeCall, tool, now)
    }
}
