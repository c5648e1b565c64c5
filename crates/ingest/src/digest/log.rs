use std::collections::HashMap;

use super::is_trouble;

/// Lines shown around a line of trouble.
const AROUND: usize = 3;
/// How often the same message is shown.
const REPEATS: u32 = 2;
const LINE_BYTES: usize = 400;

/// Lines of trouble with three lines around each, the first and last line, repeats of a message counted.
/// `None` when the text has no line of trouble or is no list of lines.
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
    // Less around each when it does not fit; the last hits tell how it ended.
    (0..=AROUND)
        .rev()
        .map(|around| render(&lines, &hits, around, repeated))
        .find(|out| out.len() <= budget)
        .or_else(|| Some(render(&lines, &fitting(&lines, &hits, budget), 0, repeated)))
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

fn render(lines: &[&str], hits: &[usize], around: usize, repeated: usize) -> String {
    let mut out = String::new();
    let mut next = 0;
    for hit in hits {
        let (from, to) = (hit.saturating_sub(around).max(next), (hit + around + 1).min(lines.len()));
        gap(&mut out, from - next.min(from));
        for line in &lines[from.min(to)..to] {
            out.push_str(&line[..line.floor_char_boundary(LINE_BYTES)]);
            out.push('\n');
        }
        next = next.max(to);
    }
    gap(&mut out, lines.len() - next);
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
