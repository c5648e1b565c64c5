//! What is asked, taken apart: words, names, and the time it speaks of.

mod names;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hindsight_ports::SparseVector;
use hindsight_text::{
    Kind, Token, bm25, entity_key, is_stop_word, token_set, tokenize, tokens, truncate_chars,
};
use hindsight_types::{Period, Timestamp};
use jiff::tz::TimeZone;

pub(crate) use names::mentions;

/// Characters of a question that are looked at.
const READ_CHARS: usize = 4_000;
/// A question of no more content words than this may lean on what was said before it.
const FEW_WORDS: usize = 2;
/// Turns before the question that are looked at.
const RECENT_TURNS: usize = 3;
/// Words taken from them.
const RECENT_WORDS: usize = 8;
/// What such a word counts beside one of the question's own.
const RECENT_WEIGHT: f32 = 0.4;

/// Words that ask, or only lend the question its form. No memory need hold them to answer it, so they do
/// not count in coverage; the search itself uses them.
static ASKING: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    token_set(
        "many much often ever kind sort likely please tell know remember happen happened 发生 啥 多 多少 几 谁 哪里 哪儿 何时 何处 为何 \
         为啥 如何 怎样 怎么样 怎么办 什么时候 来着 来 最 更 以下 可能 大概 到底 究竟 点 些 啦 告诉 知道 记得 对于 描述 \
         平时 现在 一般 更多",
    )
});

/// Words that stand for something said before.
const PRONOUNS: [&str; 26] = [
    "it", "its", "he", "him", "his", "she", "her", "hers", "they", "them", "their", "that", "this", "those",
    "these", "one", "same", "there", "他", "她", "它", "他们", "那个", "这个", "那", "这",
];

/// A word of the question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) id: u32,
    pub(crate) text: String,
    /// 1 for the question's own words.
    pub(crate) weight: f32,
    /// Whether an answer should hold it.
    pub(crate) content: bool,
}

/// A question, as it is searched and ranked by.
#[derive(Debug, Clone)]
pub struct Query {
    text: String,
    embedded: String,
    /// By id.
    terms: Vec<Term>,
    names: Vec<String>,
    /// The question in the form in which names are compared.
    key: String,
    period: Option<Period>,
}

impl Query {
    /// `recent_turns`: what was said just before, the last turn last. A question of few words, or one that
    /// says "it", takes their names and words too, at a lower weight. Times such as "last week" are read from
    /// the moment of asking in the time zone of whoever asks.
    pub fn new(text: &str, recent_turns: &[String], asked_at: Timestamp, time_zone: &TimeZone) -> Self {
        let read = truncate_chars(text, READ_CHARS);
        let mentioned = hindsight_text::period(read, &asked_at.to_zoned_datetime(time_zone.clone()));
        let timed: BTreeSet<String> = mentioned.iter().flat_map(|m| tokens(&m.words)).collect();
        let found = tokenize(read).into_iter().filter(|t| t.kind != Kind::Pair);
        let mut terms: Vec<Term> = found.map(|t| Term::own(t, &timed)).collect();
        if !terms.iter().any(|t| t.content) && timed.is_empty() {
            // A question of nothing else still has something to look for.
            terms.iter_mut().for_each(|t| t.content = true);
        }
        let recent = if leans_on_before(read, &terms) { recent_words(recent_turns) } else { Vec::new() };
        let embedded = [&[read.to_owned()], &recent[..]].concat().join(" ");
        let mut names = names::possible(read);
        names.extend(recent.iter().map(|w| entity_key(w)));
        for token in recent.iter().flat_map(|word| tokenize(word)).filter(|t| t.kind != Kind::Pair) {
            terms.push(Term { weight: RECENT_WEIGHT, ..Term::own(token, &timed) });
        }
        terms.sort_by(|a, b| {
            a.id.cmp(&b.id)
                .then_with(|| b.weight.total_cmp(&a.weight))
                .then_with(|| b.content.cmp(&a.content))
        });
        terms.dedup_by_key(|t| t.id);
        Self {
            text: text.to_owned(),
            key: entity_key(&embedded),
            embedded,
            terms,
            names: names::distinct(names),
            period: mentioned.map(|m| Period { from: m.from, until: m.until }),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to embed: the question, with what it leans on.
    pub fn embedded(&self) -> &str {
        &self.embedded
    }

    /// What to search words by.
    pub fn sparse(&self) -> SparseVector {
        let (indices, values) = self.terms.iter().map(|t| (t.id, t.weight)).unzip();
        SparseVector { indices, values }
    }

    /// What may be a name in it, each in the form in which names are compared. Whether it is one is told by the
    /// memories that are filed under it.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The time it speaks of.
    pub fn period(&self) -> Option<Period> {
        self.period
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl Term {
    fn own(Token { text, kind }: Token, timed: &BTreeSet<String>) -> Self {
        // What a word is made of would count it twice.
        let whole = !matches!(kind, Kind::Part | Kind::Bigram);
        let content = whole && !ASKING.contains(&text) && !timed.contains(&text);
        Self { id: bm25::term_id(&text), text, weight: 1.0, content }
    }
}

fn leans_on_before(text: &str, terms: &[Term]) -> bool {
    let few = terms.iter().filter(|t| t.content).count() <= FEW_WORDS;
    few || text.split(|c: char| !c.is_alphanumeric()).any(|w| PRONOUNS.contains(&w.to_lowercase().as_str()))
        || ["他", "她", "它", "那个", "这个"].iter().any(|p| text.contains(p))
}

/// Names first, then the other words, of the latest turn first.
fn recent_words(turns: &[String]) -> Vec<String> {
    let latest: Vec<&str> =
        turns.iter().rev().take(RECENT_TURNS).map(|t| truncate_chars(t, READ_CHARS)).collect();
    let named = latest.iter().flat_map(|turn| names::certain(turn));
    let said = latest.iter().take(1).flat_map(|turn| tokens(turn)).filter(|w| !ASKING.contains(w));
    let mut seen = BTreeSet::new();
    named
        .chain(said)
        .filter(|w| !is_stop_word(w) && seen.insert(w.to_lowercase()))
        .take(RECENT_WORDS)
        .collect()
}

#[cfg(test)]
mod tests;
