//! The block: what an agent is given, between the system prompt and the user's input.
//!
//! One fixed, versioned format. Recalled text is data: each piece is cleaned, put on one line behind a
//! label of ours, and cannot close the block.

mod escape;
mod item;
mod labels;
mod run;

pub use escape::{code, quote};
pub(crate) use item::Item;

use crate::{Request, count_tokens};
use labels::Labels;

/// Changes whenever the shape of the block does.
pub const VERSION: u32 = 1;

const TAG: &str = "hindsight-memory";

/// A block in the making that never exceeds its token budget.
pub(crate) struct Block<'a> {
    request: &'a Request<'a>,
    head: String,
    items: Vec<String>,
    tokens: usize,
}

impl<'a> Block<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        let labels = Labels::of(request.query);
        let head =
            format!("<{TAG} version=\"{VERSION}\" receipt=\"{}\">\n{}\n", request.receipt, labels.head);
        Self { request, head, items: Vec::new(), tokens: 0 }
    }

    /// Adds an item (its header without number, then its lines) unless the block would become too long.
    pub(crate) fn push(&mut self, item: &str) -> bool {
        let item = format!("\n### {}. {item}", self.items.len() + 1);
        self.items.push(item);
        let tokens = count_tokens(&self.text());
        if tokens > self.request.token_budget {
            self.items.pop();
            return false;
        }
        self.tokens = tokens;
        true
    }

    fn text(&self) -> String {
        format!("{}{}</{TAG}>\n", self.head, self.items.concat())
    }

    /// The text and its size; nothing at all without items.
    pub(crate) fn finish(self) -> (String, usize) {
        if self.items.is_empty() { (String::new(), 0) } else { (self.text(), self.tokens) }
    }
}

#[cfg(test)]
mod tests;
