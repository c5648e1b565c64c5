//! Stack traces: one line stands for all frames; the message stands by itself.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::Regex;

use super::{
    pool::{Pool, weight},
    shape,
};
use crate::pattern::compile;

/// Frames in a row.
#[derive(Debug)]
pub(super) struct Trace<'a> {
    at: usize,
    first: &'a str,
    last: &'a str,
    frames: usize,
    /// The next line is the code of a frame.
    code: bool,
}

pub(super) fn is_frame(line: &str) -> bool {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        compile(concat!(
            r#"^\s*(?:Traceback \(most recent call last\):|at [\w$.<>/]+[ (].*|File "[^"]+", line [0-9]+.*|\.\.\. [0-9]+ (?:more|common frames).*|goroutine [0-9]+ .*:|created by .*"#,
            r"|/?[\w./@-]+\.(?:go|rs|rb|js|ts|php|py|c|cc|cpp):[0-9]+.*|[0-9]+:\s+0x[0-9a-f]+ - .*|#[0-9]+ +(?:0x[0-9a-f]+|/).*|from [\w./-]+:[0-9]+:in .*)$",
        ))
    });
    line.len() < 1_000 && FRAME.is_match(line.as_bytes())
}

impl<'a> Trace<'a> {
    pub(super) fn open(n: usize, line: &'a str) -> Self {
        Self { at: n, first: line, last: line, frames: 1, code: has_code(line) }
    }

    pub(super) fn take(&mut self, line: &'a str) -> bool {
        if is_frame(line) {
            self.frames += 1;
            self.last = line;
            self.code = has_code(line);
            return true;
        }
        std::mem::take(&mut self.code) && line.starts_with([' ', '\t'])
    }

    pub(super) fn close(self, pool: &mut Pool<'a>) {
        let text = match self.frames {
            1 => Cow::Borrowed(self.first),
            2 => Cow::Owned(format!("{} ← {}", self.last.trim(), self.first.trim())),
            n => Cow::Owned(format!("{} … {} frames … {}", self.first.trim(), n - 2, self.last.trim())),
        };
        pool.add(2 * self.at, weight::CONTEXT + 2, text, shape::of(self.first));
    }
}

/// Python shows the code of each frame in the next line.
fn has_code(line: &str) -> bool {
    line.trim_start().starts_with("File \"")
}
