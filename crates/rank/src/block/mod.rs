//! The block: what an agent is given, between the system prompt and the user's input.
//!
//! One versioned format in two renderings of the same content (`BLOCK.md` describes both). Recalled text is
//! data: each piece is made harmless, stands on one line behind a label of ours, and cannot close the block.

pub(crate) mod calls;
mod entry;
mod escape;
mod item;
mod json;
mod markdown;
mod run;
mod why;
mod words;

pub use escape::quote;
pub(crate) use item::Item;
pub use words::Language;

use hindsight_types::ReceiptId;
use serde::{Deserialize, Serialize};

use crate::{Request, count_tokens};
use entry::Entry;

/// Changes whenever the shape of the block does.
pub const VERSION: u32 = 2;

/// Name of the format: the tag of the Markdown rendering, `format` of the JSON one. Nothing that is recalled
/// can spell it.
pub const TAG: &str = "hindsight-memory";

/// Most that `left out` counts to.
const MOST_LEFT_OUT: usize = 999;

/// How the block is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub format: BlockFormat,
    /// Language of our own words in it. Absent: that of the query.
    pub language: Option<Language>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockFormat {
    /// For the context of a model, and for people.
    #[default]
    Markdown,
    /// For programs that place the content themselves.
    Json,
}

/// A block in the making that never exceeds its token budget.
///
/// It is a sequence of parts. Each ends a line and the next begins with neither white space nor `/`, where
/// the tokenizer always splits: so the tokens of the parts add up to those of the text.
pub(crate) struct Block {
    format: BlockFormat,
    language: Language,
    text: String,
    items: usize,
    tokens: usize,
    /// Most tokens, less those of the longest end.
    room: usize,
}

impl Block {
    pub(crate) fn new(request: &Request<'_>) -> Self {
        let Style { format, language } = request.style;
        let language = language.unwrap_or_else(|| Language::of(request.query));
        let text = format.head(request.receipt, language);
        let longest = count_tokens(&format.tail(MOST_LEFT_OUT, language));
        let room = request.token_budget.saturating_sub(longest);
        Self { format, language, tokens: count_tokens(&text), text, items: 0, room }
    }

    /// Adds an item in the richest of its forms that fits; the block stays as it is when none does.
    pub(crate) fn push(&mut self, item: &Item<'_>, detailed: bool) -> bool {
        let mut forms = item.forms(detailed);
        // The shortest first: most items that do not fit do not fit at all.
        let Some(shortest) = forms.next_back().and_then(|entry| self.fit(&entry)) else { return false };
        let (part, tokens) = forms.find_map(|entry| self.fit(&entry)).unwrap_or(shortest);
        self.text.push_str(&part);
        self.tokens += tokens;
        self.items += 1;
        true
    }

    /// Whether the item could be added.
    pub(crate) fn fits(&self, item: &Item<'_>) -> bool {
        item.forms(false).next_back().is_some_and(|entry| self.fit(&entry).is_some())
    }

    /// The next part and its tokens, when there is room for it.
    fn fit(&self, entry: &Entry) -> Option<(String, usize)> {
        let part = self.format.item(self.items, entry, self.language);
        let tokens = count_tokens(&part);
        (self.tokens.saturating_add(tokens) <= self.room).then_some((part, tokens))
    }

    /// The text and its size in tokens; nothing at all without items. `left_out`: items that did not fit.
    pub(crate) fn finish(mut self, left_out: usize) -> (String, usize) {
        if self.items == 0 {
            return (String::new(), 0);
        }
        let tail = self.format.tail(left_out.min(MOST_LEFT_OUT), self.language);
        self.text.push_str(&tail);
        (self.text, self.tokens + count_tokens(&tail))
    }
}

impl BlockFormat {
    fn head(self, receipt: ReceiptId, language: Language) -> String {
        match self {
            Self::Markdown => markdown::head(receipt, language),
            Self::Json => json::head(receipt, language),
        }
    }

    fn item(self, before: usize, entry: &Entry, language: Language) -> String {
        match self {
            Self::Markdown => markdown::item(before, entry, language),
            Self::Json => json::item(before, entry, language),
        }
    }

    fn tail(self, left_out: usize, language: Language) -> String {
        match self {
            Self::Markdown => markdown::tail(left_out, language),
            Self::Json => json::tail(left_out),
        }
    }
}

#[cfg(test)]
mod tests;
