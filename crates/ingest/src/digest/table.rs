use super::is_trouble;

/// Fewer rows are no table worth reducing.
const ROWS: usize = 5;

/// A table of a command line tool (a header in capitals, columns set apart by two or more spaces): the
/// header, rows that look unhealthy, then others as far as the budget goes, in their order, and a count.
pub(super) fn digest(text: &str, budget: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().take(10).position(|l| is_header(l))?;
    let rows: Vec<&str> = lines[at + 1..].iter().copied().filter(|l| !l.trim().is_empty()).collect();
    let columns = cells(lines[at]);
    let regular = rows.iter().filter(|r| cells(r) + 1 >= columns.max(2)).count();
    if rows.len() < ROWS || regular * 10 < rows.len() * 8 {
        return None;
    }
    let room = budget.saturating_sub(48 + at_bytes(&lines[..=at]));
    let kept = keep(&rows, room);
    let mut out = lines[..=at].join("\n");
    for i in &kept {
        out.push('\n');
        out.push_str(rows[*i]);
    }
    if kept.len() < rows.len() {
        out.push_str(&format!("\n… {} of {} rows left out", rows.len() - kept.len(), rows.len()));
    }
    Some(out)
}

fn at_bytes(lines: &[&str]) -> usize {
    lines.iter().map(|l| l.len() + 1).sum()
}

fn keep(rows: &[&str], mut room: usize) -> Vec<usize> {
    let (bad, good): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|i| is_unhealthy(rows[*i]));
    let mut kept = Vec::new();
    for i in bad.into_iter().chain(good) {
        let cost = rows[i].len() + 1;
        if cost <= room {
            room -= cost;
            kept.push(i);
        }
    }
    kept.sort_unstable();
    kept
}

/// Trouble, or `READY 0/1`, or a disk above 90 %.
fn is_unhealthy(row: &str) -> bool {
    is_trouble(row)
        || row.split_whitespace().any(|cell| {
            let part = cell
                .split_once('/')
                .and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
            let percent = cell.strip_suffix('%').and_then(|p| p.parse::<f32>().ok());
            part.is_some_and(|(a, b)| a < b) || percent.is_some_and(|p| p >= 90.0)
        })
}

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let capital =
        |w: &&&str| w.bytes().any(|b| b.is_ascii_uppercase()) && !w.bytes().any(|b| b.is_ascii_lowercase());
    words.len() >= 2 && words.iter().filter(capital).count() * 10 >= words.len() * 8
        || line.starts_with("Filesystem ")
}

/// Columns of a line.
fn cells(line: &str) -> usize {
    line.split("  ").filter(|c| !c.trim().is_empty()).count()
}
