//! Whether a call is like one that is known to fail.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use hindsight_text::{bm25::term_id, tokens};
use hindsight_types::{FailurePattern, Timestamp};

/// Likenesses that one call brings, and of how many they are mostly chosen.
const MOST: usize = 8;
const SOME: usize = 64;
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

    /// 0 to 1: the share of words that both calls hold, which are `common`, of those that either holds.
    fn alike(&self, call: &Signs, common: usize) -> f32 {
        let all = self.signs.words.len() + call.words.len() - common;
        if all == 0 { 1.0 } else { common as f32 / all as f32 }
    }

    /// Whether the call holds what the error was about.
    fn may_fail_so(&self, call: &Signs) -> bool {
        let held = self.named.iter().filter(|word| call.words.binary_search(word).is_ok()).count();
        held as f32 >= NAMED * self.named.len() as f32
    }
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
pub struct Patterns(HashMap<String, Shelf>);

/// Known failures of one purpose, and which of them hold a word.
#[derive(Debug, Clone, Default)]
struct Shelf {
    known: Vec<Known>,
    holding: HashMap<u32, Vec<u32>>,
}

impl Patterns {
    pub fn new(known: impl IntoIterator<Item = Known>) -> Self {
        let mut by_purpose: HashMap<String, Shelf> = HashMap::new();
        for one in known {
            by_purpose.entry(one.signs.purpose.clone()).or_default().add(one);
        }
        Self(by_purpose)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Known> {
        self.0.values().flat_map(|shelf| &shelf.known)
    }

    /// Those that are at least `near` like the call, the most like first, ties by id; the best few.
    pub fn like(&self, call: &Signs, near: f32) -> Vec<Likeness> {
        self.0.get(&call.purpose).map(|shelf| shelf.like(call, near)).unwrap_or_default()
    }
}

impl Shelf {
    fn add(&mut self, known: Known) {
        let place = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        for word in &known.signs.words {
            self.holding.entry(*word).or_default().push(place);
        }
        self.known.push(known);
    }

    fn like(&self, call: &Signs, near: f32) -> Vec<Likeness> {
        let alike = self.common(call).into_iter().zip(&self.known);
        let alike = alike.map(|(common, known)| (known.alike(call, common), known));
        let mut alike: Vec<Alike<'_>> = alike.filter(|(alike, _)| *alike > 0.0 && *alike >= near).collect();
        // Few of many are wanted: most need not be put in order.
        if alike.len() > SOME {
            alike.select_nth_unstable_by(SOME, best_first);
        }
        let few = alike.len().min(SOME);
        let (some, rest) = alike.split_at_mut(few);
        let mut found = best(some, call, MOST);
        if found.len() < MOST {
            found.extend(best(rest, call, MOST - found.len()));
        }
        found
    }

    /// How many words each has in common with the call.
    fn common(&self, call: &Signs) -> Vec<usize> {
        let mut common = vec![0; self.known.len()];
        for place in call.words.iter().filter_map(|word| self.holding.get(word)).flatten() {
            if let Some(count) = common.get_mut(*place as usize) {
                *count += 1;
            }
        }
        common
    }
}

/// How like a call a known failure is.
type Alike<'a> = (f32, &'a Known);

/// The best of these that may fail in this way.
fn best(alike: &mut [Alike<'_>], call: &Signs, most: usize) -> Vec<Likeness> {
    alike.sort_by(best_first);
    let likeness = |(alike, known): &Alike<'_>| Likeness { pattern: known.pattern.clone(), alike: *alike };
    alike.iter().filter(|(_, known)| known.may_fail_so(call)).take(most).map(likeness).collect()
}

fn best_first((a, x): &Alike<'_>, (b, y): &Alike<'_>) -> Ordering {
    b.total_cmp(a).then_with(|| x.pattern.id.cmp(&y.pattern.id))
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
