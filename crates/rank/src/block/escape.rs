//! Making foreign text harmless, and short. `BLOCK.md` lists what is changed.

mod fold;

use hindsight_text::{one_line, truncate_chars};

use super::TAG;
use fold::{Folded, first};

/// Foreign text on one line: white space and control characters become single spaces, invisible characters
/// vanish, and nothing in it can open or close a tag, a fence, a chat turn or a field of the block, in any
/// spelling that looks or normalises the same. Longer than `max` characters: cut, and marked as cut.
pub fn quote(text: &str, max: usize) -> String {
    // Most white space is gone after this many characters; what is farther behind is not read.
    let line = one_line(text, max.saturating_mul(8));
    let read = truncate_chars(&line, max);
    let clean = disarm(read);
    if read.len() == line.len() && clean.chars().nth(max).is_none() {
        clean
    } else if max == 0 {
        String::new()
    } else {
        format!("{}…", truncate_chars(&clean, max - 1).trim_end())
    }
}

fn disarm(line: &str) -> String {
    disarm_words(&disarm_marks(line))
}

/// Single characters: what opens a tag, fences of code, runs of heading marks, separators of ours.
fn disarm_marks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match first(c) {
            // `a < b` and `x <- y` stay as they are.
            '<' if !c.is_ascii() || next.is_some_and(|n| opens_tag(first(n))) => out.push_str("&lt;"),
            '`' => add_to_run(&mut out, '`', "```", "'''"),
            '#' => add_to_run(&mut out, '#', "###", "#"),
            '→' => out.push_str("->"),
            '·' if stands_alone(&out, next) => out.push('-'),
            _ => out.push(c),
        }
    }
    out
}

/// Adds `c`; a run of three is replaced.
fn add_to_run(out: &mut String, c: char, run: &str, instead: &str) {
    out.push(c);
    if out.ends_with(run) {
        out.truncate(out.len() - run.len());
        out.push_str(instead);
    }
}

fn stands_alone(before: &str, next: Option<char>) -> bool {
    (before.is_empty() || before.ends_with(' ')) && next.is_none_or(|n| n == ' ')
}

fn opens_tag(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '/' | '|' | '!' | '?' | '<' | '[' | '_' | '&')
}

/// Names in square brackets that chat templates read as marks.
const BRACKETED: [&str; 7] =
    ["inst", "system", "system_prompt", "available_tools", "tool_calls", "tool_results", "gmask"];

/// Words that begin a turn of a chat when a colon follows.
const ROLES: [&str; 9] =
    ["human", "assistant", "system", "user", "developer", "系统", "用户", "助手", "人类"];

/// The name of our own format, marks of chat templates without angle brackets, and the speakers of a chat.
/// No replacement can make another marker.
fn disarm_words(line: &str) -> String {
    let folded = Folded::of(line);
    let mut out = String::with_capacity(line.len());
    let (mut at, mut kept) = (0, 0);
    while at < folded.chars.len() {
        let Some((from, to, instead)) = marker(&folded.chars, at, begins_word(line, &folded, at)) else {
            at += 1;
            continue;
        };
        let origin = folded.origin(from, to);
        if origin.start >= kept {
            out.push_str(&line[kept..origin.start]);
            out.push_str(&instead);
            kept = origin.end;
        }
        at = to;
    }
    out.push_str(&line[kept..]);
    out
}

/// Whether a word begins at `at`, as it is written or as it is folded: `㏌` is one sign, and folds to letters.
fn begins_word(line: &str, folded: &Folded, at: usize) -> bool {
    let before = line[..folded.origin(at, at + 1).start].chars().next_back();
    at == 0 || !folded.chars[at - 1].is_alphanumeric() || before.is_none_or(|c| !c.is_alphanumeric())
}

/// A marker that begins at `at`: the characters that are replaced, and by what.
fn marker(chars: &[char], at: usize, begins: bool) -> Option<(usize, usize, String)> {
    let rest = &chars[at..];
    // Most characters begin none.
    if !matches!(rest.first(), Some('h' | '[' | 'a' | 's' | 'u' | 'd' | '系' | '用' | '助' | '人')) {
        return None;
    }
    if starts_with(rest, TAG) {
        return Some((at, at + TAG.len(), TAG.replace('-', " ")));
    }
    if rest.first() == Some(&'[') {
        let slash = usize::from(rest.get(1) == Some(&'/'));
        let name = BRACKETED.iter().find(|name| {
            starts_with(&rest[1 + slash..], name) && rest.get(1 + slash + name.len()) == Some(&']')
        })?;
        let end = at + slash + name.len() + 2;
        return Some((at, end, format!("({}{name})", &"/"[..slash])));
    }
    let role = ROLES.iter().filter(|_| begins).find(|role| starts_with(rest, role))?;
    let colon = at + role.chars().count();
    (chars.get(colon) == Some(&':')).then(|| (colon, colon + 1, " :".to_owned()))
}

fn starts_with(chars: &[char], word: &str) -> bool {
    let mut chars = chars.iter();
    word.chars().all(|c| chars.next() == Some(&c))
}

#[cfg(test)]
pub(super) mod tests;
