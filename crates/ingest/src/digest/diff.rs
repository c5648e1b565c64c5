//! Unified diffs: files with how much changed in them, and the lines that changed.

use std::borrow::Cow;

use super::{
    pool::{Pool, weight},
    shape,
};

/// A file of a diff while it is read.
#[derive(Debug, Default)]
pub(super) struct Diff {
    at: usize,
    added: usize,
    removed: usize,
}

pub(super) fn begins(line: &str) -> bool {
    line.starts_with("diff --git ")
        || line.starts_with("--- a/")
        || line.starts_with("@@ -")
        || line.starts_with("Index: ")
}

impl Diff {
    /// Takes a line of a diff; a line that is none ends it.
    pub(super) fn take<'a>(&mut self, n: usize, line: &'a str, pool: &mut Pool<'a>) -> bool {
        let weight = match line.as_bytes() {
            _ if begins(line) && !line.starts_with("@@") => {
                if !line.starts_with("---") {
                    std::mem::take(self).close(pool);
                }
                self.at = n;
                weight::NAME
            }
            [b'+', b'+', b'+', ..] => weight::NAME + 5,
            [b'@', b'@', ..] => weight::EDGE + 2,
            [b'+', ..] => {
                self.added += 1;
                weight::CONTEXT + 4
            }
            [b'-', ..] => {
                self.removed += 1;
                weight::CONTEXT + 4
            }
            [b' ' | b'\\', ..] => weight::PLAIN,
            _ if ["index ", "new file", "deleted", "rename ", "similarity", "===", "Binary"]
                .iter()
                .any(|p| line.starts_with(p)) =>
            {
                weight::EDGE
            }
            _ => return false,
        };
        pool.add(2 * n, weight, Cow::Borrowed(line), shape::of(line));
        true
    }

    /// Says how much changed.
    pub(super) fn close(self, pool: &mut Pool<'_>) {
        if self.added + self.removed > 0 {
            let text = format!("{} lines added, {} removed", self.added, self.removed);
            let key = (self.at as u64).wrapping_mul(0x1656_67B1_9E37_79F9);
            pool.add(2 * self.at + 1, weight::NAME + 4, Cow::Owned(text), key);
        }
    }
}
