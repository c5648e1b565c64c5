//! Text by lines: logs, tables, descriptions (`Key: value`), stack traces, diffs and command output, each
//! line by its own kind, since real output mixes them.

use std::{borrow::Cow, collections::VecDeque};

use super::{
    describe,
    diff::{self, Diff},
    focus::Focus,
    json,
    pool::{Pool, Room, weight},
    shape,
    table::Table,
    trace::{self, Trace},
    trouble::{self, Trouble},
};

/// Lines shown around a line of trouble.
const AROUND: usize = 3;
/// Lines at either end that count as what it is about and how it ended.
const EDGE: usize = 6;
/// A longer line is read as several.
const LINE: usize = 2_000;

/// Fewer lines without anything that sets them apart are prose.
const FEW: usize = 8;

/// Empty when no line is worth more than another.
pub(super) fn digest(text: &str, room: Room, focus: &Focus) -> String {
    let mut reader = Reader::new(text.len(), room.all, focus);
    text.lines().flat_map(pieces).for_each(|line| reader.line(line));
    let pool = reader.finish();
    let few = text.lines().take(FEW).count() < FEW;
    if few && pool.heaviest() <= weight::EDGE { String::new() } else { pool.render(room, focus) }
}

/// A line in parts of bearable length, cut where it has a separator.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        if text.len() <= LINE {
            rest = None;
            return Some(text);
        }
        let limit = text.floor_char_boundary(LINE / 8);
        let cut = text[..limit].rfind([' ', ',', ';', '}']).map_or(limit, |i| i + 1);
        rest = Some(&text[cut..]);
        Some(&text[..cut])
    })
}

/// Reads line after line and gathers what may be shown.
struct Reader<'a, 'f> {
    pool: Pool<'a>,
    focus: &'f Focus,
    columns: u8,
    before: VecDeque<(usize, &'a str)>,
    /// Further lines to show behind trouble.
    after: usize,
    shown: usize,
    /// What this line is worth for the key above it.
    keyed: u32,
    table: Option<Table<'a>>,
    trace: Option<Trace<'a>>,
    diff: Option<Diff>,
}

impl<'a, 'f> Reader<'a, 'f> {
    fn new(bytes: usize, budget: usize, focus: &'f Focus) -> Self {
        // Which columns of a table there is room for.
        let columns = match () {
            () if budget * 10 >= bytes * 6 => 1,
            () if budget >= 240 => 2,
            () => 3,
        };
        let before = VecDeque::with_capacity(EDGE + 1);
        Self {
            pool: Pool::default(),
            focus,
            columns,
            before,
            after: 0,
            shown: 0,
            keyed: 0,
            table: None,
            trace: None,
            diff: None,
        }
    }

    fn line(&mut self, line: &'a str) {
        let n = self.pool.lines;
        self.pool.lines += 1;
        if line.trim().is_empty() {
            self.close();
            return;
        }
        if let Some(table) = &mut self.table {
            if table.take(line, self.focus) {
                return;
            }
            self.close();
        }
        if let Some(table) = Table::open(n, line, self.before.back().copied(), self.columns) {
            self.close();
            self.table = Some(table);
            return;
        }
        if self.folded(n, line) || self.changed(n, line) {
            return;
        }
        self.plain(n, line);
    }

    /// Ends what a blank line or another kind of line ends.
    fn close(&mut self) {
        if let Some(table) = self.table.take() {
            table.close(&mut self.pool);
        }
        if let Some(trace) = self.trace.take() {
            trace.close(&mut self.pool);
        }
    }

    /// Frames of a stack trace.
    fn folded(&mut self, n: usize, line: &'a str) -> bool {
        if let Some(trace) = &mut self.trace {
            if trace.take(line) {
                return true;
            }
            self.close();
        }
        if trace::is_frame(line) {
            self.trace = Some(Trace::open(n, line));
            return true;
        }
        false
    }

    fn changed(&mut self, n: usize, line: &'a str) -> bool {
        if self.diff.is_none() && !diff::begins(line) {
            return false;
        }
        let diff = self.diff.get_or_insert_default();
        if diff.take(n, line, &mut self.pool) {
            return true;
        }
        if let Some(diff) = self.diff.take() {
            diff.close(&mut self.pool);
        }
        false
    }

    fn plain(&mut self, n: usize, line: &'a str) {
        let (weight, troubled) = self.weigh(line);
        self.keyed = describe::of_next(line);
        let (text, shape) = match json::log_line(line) {
            Some((text, shape)) => (Cow::Owned(text), shape),
            None => (Cow::Borrowed(line), shape::of(line)),
        };
        let first = weight > 0 && self.pool.add(2 * n, weight, text, shape);
        self.shown += 1;
        if troubled && first {
            let near: Vec<_> = self.before.iter().rev().take(AROUND).copied().collect();
            for (at, line) in near {
                self.context(at, line);
            }
            self.after = AROUND;
        } else if self.after > 0 {
            self.after -= 1;
            self.context(n, line);
        }
        self.before.push_back((n, line));
        if self.before.len() > EDGE {
            self.before.pop_front();
        }
    }

    fn weigh(&self, line: &str) -> (u32, bool) {
        let edge = if self.shown < EDGE { weight::EDGE } else { weight::PLAIN };
        if matches!(line.trim(), "stdout:" | "stderr:" | "Output:") {
            return (0, false);
        }
        let by_key = describe::weight(line).max(heading(line)).max(self.keyed);
        let asked = if self.focus.is_in(line) { weight::NAME } else { 0 };
        let quoted = if line.contains(['"', '\'', '`']) { 4 } else { 0 };
        // The options of a command are what it was told.
        let told = if line.trim_start().starts_with("--") { Trouble::None } else { trouble::of(line) };
        match told {
            Trouble::Hard => (weight::HARD + quoted + asked / 10 + by_key / 10, true),
            _ if describe::is_failed_exit(line) => (weight::HARD + 10, true),
            Trouble::Soft if is_warning(line) || by_key >= weight::STATE && is_message(line) => {
                (weight::ASKED + quoted + asked / 10, true)
            }
            Trouble::Soft => (weight::SOFT + quoted + asked / 10 + by_key / 10, true),
            Trouble::None => (edge.max(by_key).max(asked) + by_key.min(asked) / 6, false),
        }
    }

    /// A line beside trouble: it is shown for its place, not for what it says.
    fn context(&mut self, n: usize, line: &'a str) {
        let key = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.pool.add(2 * n, weight::CONTEXT, Cow::Borrowed(line), key);
    }

    fn finish(mut self) -> Pool<'a> {
        self.close();
        if let Some(diff) = self.diff.take() {
            diff.close(&mut self.pool);
        }
        let last: Vec<_> = self.before.iter().copied().collect();
        for (n, line) in last {
            let key = (n as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
            self.pool.add(2 * n, weight::EDGE, Cow::Borrowed(line), key);
        }
        self.pool
    }
}

/// A line that says itself that it is a warning.
fn is_warning(line: &str) -> bool {
    line.as_bytes().windows(4).take(160).any(|w| w.eq_ignore_ascii_case(b"warn"))
}

/// A sentence rather than a state.
pub(super) fn is_message(text: &str) -> bool {
    text.split_whitespace().take(6).count() > 5
}

/// `== title ==`, `## title`, `[section]`.
fn heading(line: &str) -> u32 {
    let line = line.trim();
    let marked = ["===", "## ", "# ", "***", ">>> "].iter().any(|m| line.starts_with(m))
        || line.starts_with('[') && line.ends_with(']') && line.len() < 80;
    if marked && line.bytes().any(|b| b.is_ascii_alphanumeric()) { weight::NAME - 2 } else { 0 }
}
