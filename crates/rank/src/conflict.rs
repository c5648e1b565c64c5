//! When two memories contradict each other, and when they say the same.

use std::collections::BTreeSet;

use hindsight_text::{Stance, Statement, similarity, token_set};
use hindsight_types::{Experience, Fact, FactType, Memory};

use crate::experience;

/// From this share of common tokens two situations are the same one.
const SAME_SITUATION: f32 = 0.8;
/// The tokens that comparing needs, computed once per candidate.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    all: BTreeSet<String>,
    /// Situation of a lesson; empty for other kinds.
    situation: BTreeSet<String>,
    /// Tokens with digits: amounts, dates, ids. They must agree for two texts to say the same.
    numbers: BTreeSet<String>,
    /// Of a fact; that of other kinds is never asked for.
    stance: Stance,
}

impl Words {
    /// `all`: the tokens of the memory's text.
    pub(crate) fn new(memory: &Memory, all: BTreeSet<String>) -> Self {
        let numbers = all.iter().filter(|t| t.contains(char::is_numeric)).cloned().collect();
        let situation = match memory {
            Memory::Lesson(m) => token_set(&m.situation),
            _ => BTreeSet::new(),
        };
        let stance = match memory {
            Memory::Fact(m) => Stance::of(&m.content),
            _ => Stance::default(),
        };
        Self { all, situation, numbers, stance }
    }

    /// Share of common tokens, 0 to 1.
    pub(crate) fn alike(&self, other: &Self) -> f32 {
        similarity(&self.all, &other.all)
    }
}

/// True when both answer the same question differently, so that only the newer one holds.
pub(crate) fn contradict(a: (&Memory, &Words), b: (&Memory, &Words)) -> bool {
    match (a.0, b.0) {
        (Memory::Fact(x), Memory::Fact(y)) => {
            x.scope == y.scope && statement(x, a.1).contradicts(&statement(y, b.1))
        }
        (Memory::Lesson(x), Memory::Lesson(y)) => {
            let common = || similarity(&a.1.situation, &b.1.situation);
            x.scope == y.scope
                && x.task_type == y.task_type
                && x.advice != y.advice
                && common() >= SAME_SITUATION
        }
        (Memory::FailurePattern(x), Memory::FailurePattern(y)) => {
            x.action_name == y.action_name && x.signature == y.signature && !x.signature.is_empty()
        }
        _ => false,
    }
}

fn statement<'a>(fact: &'a Fact, words: &'a Words) -> Statement<'a> {
    Statement {
        key: &fact.key,
        tokens: &words.all,
        stance: words.stance,
        intent: &fact.intent,
        entities: &fact.entities,
        adds_up: matches!(fact.fact_type, FactType::Event | FactType::Order),
    }
}

/// True when one of the two is enough. Words alone do not decide: numbers must agree, and so must the way
/// two runs went.
pub(crate) fn say_the_same(a: (&Memory, &Words), b: (&Memory, &Words), threshold: f32) -> bool {
    let same_kind_of_thing = match (a.0, b.0) {
        (Memory::Experience(x), Memory::Experience(y)) => went_the_same_way(x, y),
        _ => a.0.kind() == b.0.kind(),
    };
    same_kind_of_thing && a.1.numbers == b.1.numbers && a.1.alike(b.1) >= threshold
}

fn went_the_same_way(a: &Experience, b: &Experience) -> bool {
    let names = |e: &Experience| -> Vec<String> {
        experience::path(e).iter().map(|s| format!("{} {}", s.action_name, s.action_detail)).collect()
    };
    a.evaluation.outcome == b.evaluation.outcome && names(a) == names(b)
}

#[cfg(test)]
mod tests;
