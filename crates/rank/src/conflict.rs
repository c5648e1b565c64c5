//! When two memories contradict each other, and when they say the same.

use std::collections::BTreeSet;

use hindsight_text::{similarity, token_set};
use hindsight_types::{Experience, Fact, FactType, Memory};

use crate::experience;

/// From this share of common tokens two situations are the same one.
const SAME_SITUATION: f32 = 0.8;
/// From this share of common tokens two statements about the same entities answer the same question.
const SAME_QUESTION: f32 = 0.5;
/// A statement takes another back when it says so and holds this share of its words, of at least so many.
const RETOLD: f32 = 0.9;
const RETOLD_WORDS: usize = 2;

/// Words by which a statement takes back an earlier one. Those of English stand between spaces.
const CHANGE: [&str; 16] = [
    " no longer ",
    " anymore ",
    " any more ",
    " instead ",
    " moved ",
    " changed ",
    " switched ",
    " stopped ",
    " quit ",
    "不再",
    "改成",
    "改为",
    "改用",
    "换成",
    "搬到",
    "停用",
];

/// Words that deny. Many a statement holds one, so they take back only what is said in nearly the same words.
const DENIAL: [&str; 5] = [" not ", "n't ", " never ", "不", "没"];
/// Words more than the earlier one that is.
const FEW_MORE: usize = 3;

/// The tokens that comparing needs, computed once per candidate.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    all: BTreeSet<String>,
    /// Situation of a lesson; empty for other kinds.
    situation: BTreeSet<String>,
    /// Tokens with digits: amounts, dates, ids. They must agree for two texts to say the same.
    numbers: BTreeSet<String>,
    /// Of a fact: whether it says that something changed, and whether it denies something.
    changes: bool,
    denies: bool,
}

impl Words {
    /// `all`: the tokens of the memory's text.
    pub(crate) fn new(memory: &Memory, all: BTreeSet<String>) -> Self {
        let numbers = all.iter().filter(|t| t.contains(char::is_numeric)).cloned().collect();
        let situation = match memory {
            Memory::Lesson(m) => token_set(&m.situation),
            _ => BTreeSet::new(),
        };
        let said = match memory {
            Memory::Fact(m) => {
                format!(" {} ", m.content.to_lowercase().replace(['.', ',', '!', ';', '’'], " "))
            }
            _ => String::new(),
        };
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        Self { all, situation, numbers, changes: says(&CHANGE), denies: says(&DENIAL) }
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
            let common = || similarity(&a.1.all, &b.1.all);
            let taken_back = || takes_back((x, a.1), (y, b.1)) || takes_back((y, b.1), (x, a.1));
            x.scope == y.scope && (same_key(x, y) || same_subject(x, y, common) || taken_back())
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

fn same_key(a: &Fact, b: &Fact) -> bool {
    !a.key.is_empty() && a.key == b.key
}

/// Says that what the other says is no longer so.
fn takes_back(newer: (&Fact, &Words), older: (&Fact, &Words)) -> bool {
    let (old, new) = (&older.1.all, &newer.1.all);
    let few_more = new.len() <= old.len() + FEW_MORE;
    let takes_back = |words: &Words| words.changes || (words.denies && few_more);
    let held = || old.iter().filter(|token| new.contains(*token)).count();
    old.len() >= RETOLD_WORDS
        && takes_back(newer.1)
        && !takes_back(older.1)
        && !is_question(newer.0)
        && held() as f32 >= RETOLD * old.len() as f32
}

fn is_question(fact: &Fact) -> bool {
    fact.content.trim_end().ends_with(['?', '？'])
}

/// What happened adds up: two payments are two, whatever they share.
fn adds_up(fact: &Fact) -> bool {
    matches!(fact.fact_type, FactType::Event | FactType::Order)
}

/// The same entities, and the same intent or, of what can hold only once, much of the same words.
fn same_subject(a: &Fact, b: &Fact, common: impl Fn() -> f32) -> bool {
    let entities = |f: &Fact| f.entities.iter().map(|e| e.to_lowercase()).collect::<BTreeSet<_>>();
    let same_intent = !a.intent.is_empty() && a.intent.eq_ignore_ascii_case(&b.intent);
    let different_intents = !a.intent.is_empty() && !b.intent.is_empty() && !same_intent;
    !a.entities.is_empty()
        && entities(a) == entities(b)
        && !different_intents
        && !is_question(a)
        && !is_question(b)
        && (same_intent || (!adds_up(a) && !adds_up(b) && common() >= SAME_QUESTION))
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
