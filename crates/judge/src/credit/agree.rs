//! Whether a call is the one that is advised.

use std::collections::{BTreeSet, HashMap};

use hindsight_types::{ActionType, Trajectory};

use super::act::Act;

/// Bytes of what a run saw in which names are looked for, and of one result.
const SEEN: usize = 512 * 1024;
const RESULT: usize = 32 * 1024;
/// From so many words or characters on a value is a text that everybody words otherwise.
const FREE_WORDS: usize = 4;
const FREE_CHARS: usize = 48;
/// Arguments of a call that may stand in the place of others.
const SWAPPED: usize = 8;

/// What was known, and from which step on.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// By the word, in lower case; 0: before the first step.
    known: HashMap<String, u32>,
}

impl Context {
    /// Of a run: its task, what the user said and what came back.
    pub(crate) fn of(t: &Trajectory) -> Self {
        let mut context = Self::of_words(&t.task_description);
        let mut room = SEEN;
        for step in &t.steps {
            let text = match step.action_type {
                ActionType::UserInput => &step.action_detail,
                ActionType::ToolCall => &step.observation,
                ActionType::LlmReasoning => continue,
            };
            let text = &text[..text.floor_char_boundary(RESULT.min(room))];
            room -= text.len();
            context.learn(step.step_index + 1, text);
        }
        context
    }

    /// Of a text in which a situation is told.
    pub(super) fn of_words(text: &str) -> Self {
        let mut context = Self::default();
        context.learn(0, &text[..text.floor_char_boundary(RESULT)]);
        context
    }

    fn learn(&mut self, from: u32, text: &str) {
        for word in text.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>|=。，；：“”".contains(c))
        {
            let word = word.trim_matches(['.', ':', '-', '!', '?', '…']).to_lowercase();
            // Names that Chinese text is written around, and the parts of what is put together.
            let runs = word.split(|c: char| !c.is_ascii()).chain(word.split(|c: char| c.is_ascii()));
            let parts: Vec<&str> =
                runs.flat_map(|run| run.split(['/', ':', '@'])).chain([word.as_str()]).collect();
            for part in parts.into_iter().filter(|p| !p.is_empty()) {
                if !self.known.contains_key(part) {
                    self.known.insert(part.to_owned(), from);
                }
            }
        }
    }

    pub(super) fn names(&self, value: &str) -> bool {
        self.before(u32::MAX, value)
    }

    /// Whether a value was known before a step: as a whole, or each word and the last part of what it is put
    /// together from.
    pub(crate) fn before(&self, step: u32, value: &str) -> bool {
        let known = |word: &str| self.known.get(word).is_some_and(|from| *from <= step);
        let last = |word: &str| {
            word.rsplit(['/', ':', '@']).next().is_some_and(|last| last.len() > 1 && known(last))
        };
        known(value) || (!value.is_empty() && value.split_whitespace().all(|word| known(word) || last(word)))
    }
}

/// Whether `did` is the call that is `wanted`. `swaps(theirs, mine)`: whether a value of one's own situation
/// stands in the place of one of the other's.
pub(super) fn agrees(wanted: &Act, did: &Act, swaps: impl Fn(&str, &str) -> bool) -> bool {
    if wanted.purpose != did.purpose {
        return false;
    }
    let (mut alike, mut missing) = (0_usize, 0_usize);
    for (key, theirs) in &wanted.named {
        match did.named.get(key) {
            _ if is_free(theirs) => {}
            Some(mine) if theirs == mine || swaps(theirs, mine) => alike += 1,
            Some(_) => return false,
            None if wanted.firm.contains(theirs) => return false,
            None => missing += 1,
        }
    }
    let mut lacking: BTreeSet<&String> = wanted.plain.difference(&did.plain).collect();
    let mut own: BTreeSet<&String> = did.plain.difference(&wanted.plain).collect();
    if lacking.len() <= SWAPPED && own.len() <= SWAPPED {
        lacking.retain(|theirs| match own.iter().find(|mine| swaps(theirs, mine)).copied() {
            Some(mine) => !own.remove(mine),
            None => true,
        });
    }
    alike += wanted.plain.len() - lacking.len();
    // Something else in the place of what is missing is another deed.
    let replaced = !lacking.is_empty()
        && (!own.is_empty() && !wanted.cut || lacking.iter().any(|l| wanted.firm.contains(*l)));
    !replaced && alike >= missing + lacking.len()
}

/// Arguments of an advised call that a rejected one of the same purpose has otherwise, or not at all. Two names that
/// differ only in what is generated tell nothing.
pub(super) fn differences(chosen: &Act, rejected: &Act) -> BTreeSet<String> {
    if chosen.purpose != rejected.purpose {
        return BTreeSet::new();
    }
    let named = chosen.named.iter().filter(|(key, value)| {
        rejected.named.get(*key).is_some_and(|other| other != *value && !same_shape(other, value))
            && !is_free(value)
    });
    let plain = chosen.plain.difference(&rejected.plain);
    let plain = plain.filter(|value| !rejected.plain.iter().any(|other| same_shape(other, value)));
    named.map(|(_, value)| value).chain(plain).cloned().collect()
}

/// Words of one's own, and lists of things.
fn is_free(value: &str) -> bool {
    value.split_whitespace().count() >= FREE_WORDS
        || value.chars().count() > FREE_CHARS
        || value.contains(['{', '[', '"'])
}

/// Two names that differ only in what is generated, as `app-cache-7781` and `app-cache-9`; of a path its parts.
/// A bare number, or one with its unit, is a choice and no name.
pub(super) fn same_shape(a: &str, b: &str) -> bool {
    let stem = |name: &str| name.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned();
    let generated = |name: &str| name.contains(|c: char| c.is_ascii_digit());
    let alike = |(a, b): (&str, &str)| {
        let stems = (stem(a), stem(b));
        let named = stems.0.contains(char::is_alphabetic) && stems.0 == stems.1;
        a == b || (named && generated(a) && generated(b))
    };
    a.matches('/').count() == b.matches('/').count() && a.split('/').zip(b.split('/')).all(alike)
}
