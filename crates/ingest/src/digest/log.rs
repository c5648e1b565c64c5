use std::collections::HashMap;

use super::is_trouble;

/// Lines shown around a line of trouble.
const AROUND: usize = 3;
/// Lines kept at either end where they fit: what it is about, and how it ended.
const EDGE: usize = 6;
/// How often the same message is shown.
const REPEATS: u32 = 2;
const LINE_BYTES: usize = 400;

/// Lines of trouble with three lines around each and both ends, repeats of a message counted. `None` when
/// the text has no line of trouble or is no list of lines.
pub(super) fn digest(text: &str, budget: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() < 8 {
        return None;
    }
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut hits = Vec::new();
    let mut repeated = 0;
    for (i, line) in lines.iter().enumerate().filter(|(_, l)| is_trouble(l)) {
        let times = seen.entry(shape(line)).or_default();
        *times += 1;
        if *times <= REPEATS { hits.push(i) } else { repeated += 1 }
    }
    if hits.is_empty() {
        return None;
    }
    // Less around each when it does not fit.
    let levels = [(AROUND, EDGE), (AROUND, 1), (2, 1), (1, 1), (0, 0)];
    levels
        .into_iter()
        .map(|(around, edge)| render(&lines, &kept(lines.len(), &hits, around, edge), repeated))
        .find(|out| out.len() <= budget)
        .or_else(|| {
            let fitting = fitting(&lines, &hits, budget);
            Some(render(&lines, &kept(lines.len(), &fitting, 0, 0), repeated))
        })
}

/// Which lines are shown.
fn kept(count: usize, hits: &[usize], around: usize, edge: usize) -> Vec<bool> {
    let mut kept = vec![false; count];
    let edge = edge.min(count);
    kept[..edge].fill(true);
    kept[count - edge..].fill(true);
    for hit in hits {
        kept[hit.saturating_sub(around)..(hit + around + 1).min(count)].fill(true);
    }
    kept
}

/// The message without what changes from line to line.
fn shape(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars().take(LINE_BYTES) {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}

/// First and last hits in turn, as many as fit.
fn fitting(lines: &[&str], hits: &[usize], budget: usize) -> Vec<usize> {
    let mut room = budget.saturating_sub(160);
    let mut kept = Vec::new();
    let (mut low, mut high) = (0, hits.len());
    while low < high {
        let hit = if kept.len() % 2 == 0 { hits[low] } else { hits[high - 1] };
        let cost = lines[hit].len().min(LINE_BYTES) + 30;
        if cost > room {
            break;
        }
        room -= cost;
        if kept.len() % 2 == 0 {
            low += 1
        } else {
            high -= 1
        }
        kept.push(hit);
    }
    kept.sort_unstable();
    kept
}

fn render(lines: &[&str], kept: &[bool], repeated: usize) -> String {
    let mut out = String::new();
    let mut skipped = 0;
    for (line, kept) in lines.iter().zip(kept) {
        if !kept {
            skipped += 1;
            continue;
        }
        gap(&mut out, std::mem::take(&mut skipped));
        out.push_str(&line[..line.floor_char_boundary(LINE_BYTES)]);
        out.push('\n');
    }
    gap(&mut out, skipped);
    if repeated > 0 {
        out.push_str(&format!("… {repeated} more lines repeat these messages …\n"));
    }
    out.trim_end().to_owned()
}

fn gap(out: &mut String, lines: usize) {
    if lines > 0 {
        out.push_str(&format!("… {lines} lines left out …\n"));
    }
}
