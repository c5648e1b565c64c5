//! What Hindsight said too late, or where there was no room for it: it is said with what comes next.

use std::collections::VecDeque;

use hindsight_proto::recall::v1::Reminder;

use super::watch::Reply;

/// Late words that are kept for a task; beyond, the oldest about a call are dropped.
const OWED: usize = 16;

/// What words are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// All of it.
    Task,
    Tool(String),
    /// A call of a tool with its arguments, before it was made.
    Call {
        tool: String,
        same: String,
    },
}

impl Subject {
    /// Whether the result of `tool` is a place for it.
    fn suits(&self, tool: &str) -> bool {
        match self {
            Self::Task => true,
            Self::Tool(about) | Self::Call { tool: about, .. } => about == tool,
        }
    }
}

/// Answers of a task that came too late, and those that may still come.
#[derive(Debug, Default)]
pub(crate) struct Owed(VecDeque<Late>);

#[derive(Debug)]
struct Late {
    subject: Subject,
    reply: Reply,
    came: Option<Reminder>,
}

impl Owed {
    /// Keeps an answer that may still come.
    pub(crate) fn owe(&mut self, subject: Subject, reply: Reply) {
        if !reply.is_open() {
            return;
        }
        self.settle();
        if self.0.len() >= OWED {
            let oldest = self.0.iter().position(|late| late.subject != Subject::Task);
            oldest.and_then(|at| self.0.remove(at));
        }
        self.0.push_back(Late { subject, reply, came: None });
    }

    /// What may be said with a result of `tool`, in the order in which it was asked for.
    pub(crate) fn with_result(&mut self, tool: &str) -> Vec<Reminder> {
        self.settle();
        let (due, kept) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|late| late.came.is_some() && late.subject.suits(tool));
        self.0 = kept;
        let due: VecDeque<Late> = due;
        due.into_iter().filter_map(|late| late.came).collect()
    }

    /// The warning of a call that was made before and is made again.
    pub(crate) fn of_call(&mut self, call: &str) -> Option<Reminder> {
        self.settle();
        let is_it = |late: &Late| {
            late.came.is_some() && matches!(&late.subject, Subject::Call { same, .. } if same == call)
        };
        let at = self.0.iter().position(is_it)?;
        self.0.remove(at)?.came
    }

    /// Looks at what came meanwhile, and lets go of what was silence.
    fn settle(&mut self) {
        self.0.retain_mut(|late| {
            late.came = late.came.take().or_else(|| late.reply.now());
            late.came.is_some() || late.reply.is_open()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{super::watch::Answer, *};

    fn call(n: usize) -> Subject {
        Subject::Call { tool: "t".to_owned(), same: format!("t {n}") }
    }

    fn owed(subject: Subject, owed: &mut Owed) -> Answer {
        let (answer, reply) = Reply::pending();
        owed.owe(subject, reply);
        answer
    }

    fn say(answer: Answer, block: &str) {
        answer.send(Reminder { block: block.to_owned(), ..Reminder::default() }).unwrap();
    }

    fn said(owed: &mut Owed, tool: &str) -> Vec<String> {
        owed.with_result(tool).into_iter().map(|r| r.block).collect()
    }

    #[test]
    fn what_came_late_is_said_once_where_it_belongs() {
        let mut all = Owed::default();
        let task = owed(Subject::Task, &mut all);
        let (first, second) = (owed(call(1), &mut all), owed(call(2), &mut all));
        let other = owed(Subject::Tool("u".to_owned()), &mut all);
        let silence = owed(call(3), &mut all);
        assert!(said(&mut all, "t").is_empty(), "nothing came yet");
        say(first, "first");
        say(task, "task");
        say(other, "other");
        drop(silence);
        assert_eq!(all.of_call("t 2"), None);
        assert_eq!(said(&mut all, "t"), ["task", "first"]);
        say(second, "second");
        assert_eq!(all.of_call("t 2").unwrap().block, "second");
        assert_eq!(said(&mut all, "u"), ["other"]);
        assert!(all.0.is_empty(), "{all:?}");
    }

    #[test]
    fn few_are_kept() {
        let mut all = Owed::default();
        let task = owed(Subject::Task, &mut all);
        let answers: Vec<_> = (0..OWED + 3).map(|n| owed(call(n), &mut all)).collect();
        let heard = answers.into_iter().filter(|a| !a.is_closed()).count();
        assert_eq!((heard, all.0.len()), (OWED - 1, OWED));
        assert!(!task.is_closed(), "what is known of the task is kept");
    }
}
