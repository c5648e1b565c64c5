//! Tables of command line tools (kubectl, docker, helm, psql, …): names and states, unhealthy rows first.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    focus::Focus,
    pool::{Pool, weight},
    shape,
    trouble::{self, Trouble},
};

/// Healthy rows that are kept as candidates; the others are counted.
const HEALTHY: usize = 256;
const UNHEALTHY: usize = 4_096;
/// Different states that are counted.
const STATES: usize = 12;

#[derive(Debug)]
pub(super) struct Table<'a> {
    at: usize,
    header: &'a str,
    columns: Vec<Column>,
    /// Columns below this value are not shown.
    least: u8,
    rows: Vec<Row<'a>>,
    states: BTreeMap<&'a str, usize>,
    total: usize,
    healthy: usize,
}

#[derive(Debug)]
struct Row<'a> {
    line: &'a str,
    weight: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Name,
    State,
    Other,
}

#[derive(Debug)]
struct Column {
    /// Where it begins, in characters.
    start: usize,
    name: String,
    value: u8,
    used: Use,
}

impl<'a> Table<'a> {
    /// A line in capitals is a header, and so is the line above a rule.
    pub(super) fn open(n: usize, line: &'a str, before: Option<(usize, &'a str)>, least: u8) -> Option<Self> {
        let (at, header) = match before {
            Some((at, header)) if is_rule(line) && at + 1 == n => (at, header),
            _ if is_header(line) => (n, line),
            _ => return None,
        };
        let columns = columns(header);
        let table = Self {
            at,
            header,
            columns,
            least,
            rows: Vec::new(),
            states: BTreeMap::new(),
            total: 0,
            healthy: 0,
        };
        (table.columns.len() >= 2).then_some(table)
    }

    /// Takes a row; a line with too few cells is none.
    pub(super) fn take(&mut self, line: &'a str, focus: &Focus) -> bool {
        if is_rule(line) {
            return true;
        }
        let cells = self.cells(line);
        let filled = cells.iter().filter(|c| !c.is_empty()).count();
        if filled < 2 || filled * 2 < self.columns.len().min(6) {
            return false;
        }
        self.total += 1;
        let asked = if focus.is_in(line) { 15 } else { 0 };
        let weight = match self.health(&cells) {
            Trouble::Hard => weight::HARD + asked,
            Trouble::Soft => weight::HARD - 12 + asked,
            Trouble::None if asked > 0 => weight::ASKED,
            Trouble::None => weight::EDGE + 5,
        };
        let state = self
            .columns
            .iter()
            .zip(&cells)
            .find(|(c, _)| matches!(&*c.name, "STATUS" | "STATE" | "PHASE" | "HEALTH" | "状态"));
        if let Some((_, state)) = state.filter(|(_, s)| s.len() <= 40)
            && (self.states.len() < STATES || self.states.contains_key(state))
        {
            *self.states.entry(state).or_default() += 1;
        }
        let healthy = weight < weight::SOFT;
        self.healthy += usize::from(healthy);
        if if healthy { self.healthy <= HEALTHY } else { self.rows.len() < UNHEALTHY } {
            self.rows.push(Row { line, weight });
        }
        true
    }

    /// The states of a row speak; its names and labels do not.
    fn health(&self, cells: &[&str]) -> Trouble {
        let mut worst = Trouble::None;
        let done = cells.iter().any(|c| matches!(*c, "Completed" | "Succeeded" | "Complete" | "deployed"));
        for (column, cell) in self.columns.iter().zip(cells) {
            if column.used == Use::State {
                worst = worst.max(trouble::of(cell));
            }
            if !done && is_short(cell) {
                worst = worst.max(Trouble::Soft);
            }
        }
        worst
    }

    fn cells(&self, line: &'a str) -> Vec<&'a str> {
        let split = split(line);
        if split.len() == self.columns.len() {
            return split;
        }
        // Some are empty, or a column is set apart by one blank.
        let starts: Vec<usize> = self.columns.iter().map(|c| c.start).collect();
        by_position(line, &starts)
    }

    fn text(&self, line: &'a str) -> String {
        let cells = self.cells(line);
        let shown =
            self.columns.iter().zip(cells).filter(|(c, cell)| {
                c.value >= self.least && !is_empty(cell) && (self.least < 3 || *cell != "0")
            });
        shown.map(|(_, cell)| cell).collect::<Vec<_>>().join("  ")
    }

    pub(super) fn close(mut self, pool: &mut Pool<'a>) {
        if self.total == 0 {
            pool.add(2 * self.at, weight::EDGE, Cow::Borrowed(self.header), shape::of(self.header));
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        // What nearly every row holds sets none apart; the first speaks for all.
        let asked = rows.iter().filter(|r| r.weight == weight::ASKED).count();
        if asked > 2 && asked * 3 > self.total {
            rows.iter_mut()
                .filter(|r| r.weight == weight::ASKED)
                .skip(1)
                .for_each(|r| r.weight = weight::CONTEXT);
        }
        let shown = self.columns.iter().filter(|c| c.value >= self.least).map(|c| &*c.name);
        let header = shown.collect::<Vec<_>>().join("  ");
        pool.add(2 * self.at, weight::NAME + 5, Cow::Owned(header), shape::of(self.header));
        if self.total >= 8 && self.states.len() > 1 {
            let states: Vec<String> = self.states.iter().map(|(s, n)| format!("{n} {s}")).collect();
            let text = format!("{} rows: {}", self.total, states.join(", "));
            pool.add(2 * self.at + 1, weight::SOFT, Cow::Owned(text), shape::of(self.header) ^ 1);
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|i| u32::MAX - rows[*i].weight);
        for (place, index) in order.into_iter().enumerate() {
            let Row { line, weight } = rows[index];
            let text = self.text(line);
            let key = shape::of(&text);
            pool.add(2 * (self.at + 1 + place), weight, Cow::Owned(text), key);
        }
    }
}

/// `0/1`, or a disk above 90 %.
fn is_short(cell: &str) -> bool {
    let part = cell.split_once('/').and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    let percent = cell.strip_suffix('%').and_then(|p| p.parse::<f32>().ok());
    part.is_some_and(|(a, b)| a < b) || percent.is_some_and(|p| p >= 90.0)
}

fn is_empty(cell: &str) -> bool {
    matches!(cell, "" | "<none>" | "-" | "<unset>")
}

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(40).collect();
    let capital = |w: &&&str| {
        w.bytes().any(|b| b.is_ascii_uppercase())
            && !w.bytes().any(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    words.len() >= 2
        && line.len() < 2_000
        && split(line).len() >= 2
        && words.iter().filter(capital).count() * 10 >= words.len() * 8
        || line.starts_with("Filesystem ")
}

/// `----  ------`, `|---|---|`, `+----+`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains("---")
        && line.bytes().all(|b| matches!(b, b'-' | b' ' | b'|' | b'+' | b':' | b'='))
        && (line.contains("- ") || line.contains(['|', '+']))
}

fn columns(header: &str) -> Vec<Column> {
    let mut columns = Vec::new();
    for name in split(header) {
        let bytes = name.as_ptr() as usize - header.as_ptr() as usize;
        let start = header[..bytes].chars().count();
        let upper = name.to_uppercase();
        let (value, used) = classify(&upper);
        columns.push(Column { start, name: upper, value, used });
    }
    columns
}

/// How much a column says, and whether it names or tells a state.
fn classify(name: &str) -> (u8, Use) {
    let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
    match name {
        _ if has(&["LABELS", "SELECTOR", "GATES", "NOMINATED", "ANNOTATIONS", "TOLERATIONS"]) => {
            (0, Use::Other)
        }
        "IP" | "NODE" | "AGE" | "CREATED" | "FROM" | "DURATION" | "UPDATED" | "COMMAND" | "PORTS"
        | "CLUSTER" | "CONTAINERS" => (1, Use::Other),
        _ if has(&[" ID", "SEEN", "-IP", "EXTERNAL"]) => (1, Use::Other),
        "NAMESPACE" | "KIND" | "GROUP" | "COUNT" => (2, Use::Name),
        _ if has(&["NAME", "OBJECT", "RELEASE", "名称"]) => (3, Use::Name),
        _ if has(&[
            "STATUS",
            "STATE",
            "READY",
            "PHASE",
            "REASON",
            "MESSAGE",
            "HEALTH",
            "ERROR",
            "CONDITION",
            "RESULT",
            "EXIT",
            "TYPE",
            "COMPLETIONS",
            "AVAILABLE",
            "USE%",
            "CAPACITY",
            "RESTARTS",
            "SEVERITY",
            "状态",
            "原因",
        ]) =>
        {
            (3, Use::State)
        }
        _ => (2, Use::Other),
    }
}

/// Cells set apart by bars, tabs or two blanks.
fn split(line: &str) -> Vec<&str> {
    if line.matches('|').take(2).count() == 2 {
        return line.trim().trim_matches('|').split('|').map(str::trim).collect();
    }
    if line.contains('\t') {
        return line.split('\t').map(str::trim).filter(|c| !c.is_empty()).collect();
    }
    line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect()
}

/// Cells by where their columns begin; a cell that runs over its column is left whole.
fn by_position<'a>(line: &'a str, starts: &[usize]) -> Vec<&'a str> {
    let places: Vec<usize> = line.char_indices().map(|(i, _)| i).chain([line.len()]).collect();
    let place = |start: usize| {
        let mut at = places[start.min(places.len() - 1)];
        // A word that runs over the boundary belongs to the cell before.
        while at > 0 && at < line.len() && !line[..at].ends_with([' ', '\t']) && line.is_char_boundary(at) {
            at += line[at..].chars().next().map_or(1, char::len_utf8);
        }
        at
    };
    let mut cells = Vec::with_capacity(starts.len());
    let mut from = 0;
    for (i, start) in starts.iter().enumerate() {
        let begin = place(*start).max(from);
        let end = starts.get(i + 1).map_or(line.len(), |next| place(*next)).max(begin);
        cells.push(line[begin..end].trim());
        from = end;
    }
    cells
}
