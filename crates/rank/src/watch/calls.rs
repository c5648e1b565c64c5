//! Whether a call is like one that is known to fail.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use hindsight_text::{bm25::term_id, tokens};
use hindsight_types::{FailurePattern, Timestamp};

/// Likenesses that one call brings.
const MOST: usize = 8;
/// Days that count as of late.
const LATELY: i64 = 30;
/// Share of the words that a call and its error have in common which another call must hold to fail so.
const NAMED: f32 = 0.5;

/// A call, as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signs {
    /// What it is for: the tool, or the program that it runs.
    purpose: String,
    /// Ids of its distinct words, sorted.
    words: Vec<u32>,
}

impl Signs {
    /// `arguments`: as a pattern keeps them ([`super::kept`]), and as a person would write them
    /// ([`super::arguments`]).
    pub fn new(purpose: &str, arguments: &str) -> Self {
        Self { purpose: purpose.to_lowercase(), words: words(arguments) }
    }
}

fn words(text: &str) -> Vec<u32> {
    let distinct: BTreeSet<u32> = tokens(text).iter().map(|token| term_id(token)).collect();
    distinct.into_iter().collect()
}

/// A failure that is known, as calls are compared with it.
#[derive(Debug, Clone)]
pub struct Known {
    pattern: Arc<FailurePattern>,
    signs: Signs,
    /// Words of its call that its error names.
    named: Vec<u32>,
}

impl Known {
    /// `signs`: of the call that failed.
    pub fn new(pattern: FailurePattern, signs: Signs) -> Self {
        let error: BTreeSet<u32> = words(&pattern.example).into_iter().chain(words(&pattern.cause)).collect();
        let named = signs.words.iter().filter(|word| error.contains(word)).copied().collect();
        Self { pattern: Arc::new(pattern), signs, named }
    }

    pub fn pattern(&self) -> &Arc<FailurePattern> {
        &self.pattern
    }

    /// Whether the words that are compared are those of this one.
    pub fn is_of(&self, pattern: &FailurePattern) -> bool {
        let words = |p: &FailurePattern| {
            (p.action_name.clone(), p.action_detail.clone(), p.example.clone(), p.cause.clone())
        };
        words(&self.pattern) == words(pattern)
    }

    /// The same as it is now; its words must be the same.
    #[must_use]
    pub fn renewed(&self, pattern: FailurePattern) -> Self {
        Self { pattern: Arc::new(pattern), signs: self.signs.clone(), named: self.named.clone() }
    }

    /// 0 to 1: the share of words that both calls hold of those that either holds. 0 when the call lacks what the
    /// error was about.
    fn alike(&self, call: &Signs) -> f32 {
        if self.signs.words.is_empty() && call.words.is_empty() {
            return 1.0;
        }
        let held = common(&self.named, &call.words);
        if (held as f32) < NAMED * self.named.len() as f32 {
            return 0.0;
        }
        let both = common(&self.signs.words, &call.words);
        both as f32 / (self.signs.words.len() + call.words.len() - both) as f32
    }
}

/// How many numbers two sorted lists have in common.
fn common(a: &[u32], b: &[u32]) -> usize {
    let (mut at, mut other, mut count) = (0, 0, 0);
    while at < a.len() && other < b.len() {
        match a[at].cmp(&b[other]) {
            Ordering::Less => at += 1,
            Ordering::Greater => other += 1,
            Ordering::Equal => (at, other, count) = (at + 1, other + 1, count + 1),
        }
    }
    count
}

/// A known failure that a call is like.
#[derive(Debug, Clone)]
pub struct Likeness {
    pub pattern: Arc<FailurePattern>,
    /// 0 to 1.
    pub alike: f32,
}

/// Known failures, by what their calls are for.
#[derive(Debug, Clone, Default)]
pub struct Patterns(HashMap<String, Vec<Known>>);

impl Patterns {
    pub fn new(known: impl IntoIterator<Item = Known>) -> Self {
        let mut by_purpose: HashMap<String, Vec<Known>> = HashMap::new();
        for one in known {
            by_purpose.entry(one.signs.purpose.clone()).or_default().push(one);
        }
        Self(by_purpose)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Known> {
        self.0.values().flatten()
    }

    /// Those that are at least `near` like the call, the most like first, ties by id; the best few.
    pub fn like(&self, call: &Signs, near: f32) -> Vec<Likeness> {
        let best_first = |(a, x): &(f32, &Known), (b, y): &(f32, &Known)| {
            b.total_cmp(a).then_with(|| x.pattern.id.cmp(&y.pattern.id))
        };
        let known = self.0.get(&call.purpose).into_iter().flatten();
        let alike = known.map(|one| (one.alike(call), one));
        let mut found: Vec<(f32, &Known)> =
            alike.filter(|(alike, _)| *alike > 0.0 && *alike >= near).collect();
        if found.len() > MOST {
            found.select_nth_unstable_by(MOST, best_first);
            found.truncate(MOST);
        }
        found.sort_by(best_first);
        found.into_iter().map(|(alike, one)| Likeness { pattern: one.pattern.clone(), alike }).collect()
    }
}

/// In how many runs of the last 30 days a failure was seen, as far as is known without reading them: all of them when
/// the first was of late; else as upkeep counted.
pub fn times(pattern: &FailurePattern, now: Timestamp) -> u32 {
    let since = now.as_second() - LATELY * 86_400;
    if pattern.last_seen.as_second() < since {
        return 0;
    }
    let all = u32::try_from(pattern.sources.len()).unwrap_or(u32::MAX);
    if pattern.first_seen.as_second() >= since {
        return all;
    }
    // It was seen at least once.
    pattern.frequency.map_or(1, |counted| counted.month.min(all)).max(1)
}
