//! Making foreign text harmless, and short.

use hindsight_text::{one_line, truncate_chars};

use super::TAG;

/// Foreign text on one line: white space and control characters become single spaces, invisible characters
/// vanish, and nothing in it can open or close a tag, a fence or a chat turn. Longer than `max` characters:
/// cut, and marked as cut.
pub fn quote(text: &str, max: usize) -> String {
    let clean = disarm(&one_line(text, max.saturating_mul(8)));
    if clean.chars().nth(max).is_some() {
        format!("{}…", truncate_chars(&clean, max.saturating_sub(1)).trim_end())
    } else {
        clean
    }
}

/// Foreign text as inline code.
pub fn code(text: &str, max: usize) -> String {
    format!("`{}`", quote(text, max).replace('`', "'"))
}

fn disarm(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            // `a < b` and `x <- y` stay as they are.
            '<' if next.is_some_and(opens_tag) => out.push_str("&lt;"),
            '\u{FF1C}' | '\u{FE64}' => out.push_str("&lt;"),
            '`' if out.ends_with("``") => {
                out.truncate(out.len() - 2);
                out.push_str("'''");
            }
            _ => out.push(c),
        }
    }
    MARKERS.iter().fold(out, |text, (marker, plain)| replace_ignoring_case(&text, marker, plain))
}

fn opens_tag(c: char) -> bool {
    c.is_alphabetic()
        || matches!(c, '/' | '|' | '!' | '?' | '<' | '[' | '_' | '&' | '\u{FF1C}' | '\u{FF0F}' | '\u{FF5C}')
}

/// Replaced whatever their case: chat marks without angle brackets, and the name of our own tag, whatever
/// brackets stand around it. No replacement can make another marker.
const MARKERS: [(&str, &str); 5] = [
    (TAG, "hindsight memory"),
    ("[inst]", "(inst)"),
    ("[/inst]", "(/inst)"),
    ("[system]", "(system)"),
    ("[/system]", "(/system)"),
];

fn replace_ignoring_case(text: &str, marker: &str, plain: &str) -> String {
    // ASCII lower case keeps every byte position.
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(marker) {
        out.push_str(&text[from..at]);
        out.push_str(plain);
        from = at + marker.len();
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests;
