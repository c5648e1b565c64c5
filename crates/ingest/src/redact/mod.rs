//! Takes secrets out of text before anything is kept: `[REDACTED:<kind>]` stands in their place.
//!
//! Time is linear in the text. Running it twice changes nothing the second time. Identifiers, hashes,
//! UUIDs and commit ids stay: an experience is worth little without them.

mod assignment;
mod block;
#[cfg(test)]
mod planted;
mod record;
mod rules;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use hindsight_text::is_invisible;
use rules::{RULES, Rule};

pub use record::{event, fact, trajectory};

const MARK: &str = "[REDACTED:";
/// A replacement can complete the pattern of another rule, so a changed text is looked at again. Two
/// passes settle ordinary text; the bound keeps the time linear.
const PASSES: usize = 6;

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    kind: Cow<'static, str>,
}

impl Span {
    fn new(range: Range<usize>, kind: impl Into<Cow<'static, str>>) -> Self {
        Self { range, kind: kind.into() }
    }
}

/// `input` with every secret replaced; borrowed when there was none.
pub fn text(input: &str) -> Cow<'_, str> {
    let mut current = Cow::Borrowed(input);
    for _ in 0..PASSES {
        match pass(&current) {
            Some(changed) => current = Cow::Owned(changed),
            None => break,
        }
    }
    current
}

fn pass(input: &str) -> Option<String> {
    let mut spans = find(input);
    // A name with an invisible character in it reads like any other.
    if input.chars().any(is_invisible) {
        spans.extend(find_among_visible(input));
    }
    if spans.is_empty() { None } else { Some(replace(input, spans)) }
}

fn find(input: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for index in RULES.set.matches(input.as_bytes()) {
        apply(&RULES.rules[index], input, &mut spans);
    }
    assignment::find(input, &mut spans);
    block::private_keys(input, &mut spans);
    block::kubernetes_secrets(input, &mut spans);
    block::registry_logins(input, &mut spans);
    block::pgpass(input, &mut spans);
    spans.retain_mut(|s| {
        s.range = widen(input, &s.range);
        !s.range.is_empty() && !is_mark(&input[s.range.clone()])
    });
    spans
}

/// What is found when the invisible characters are left out, where it stands in `input`.
fn find_among_visible(input: &str) -> Vec<Span> {
    let mut visible = String::with_capacity(input.len());
    let mut places = Vec::with_capacity(input.len());
    for (at, c) in input.char_indices().filter(|(_, c)| !is_invisible(*c)) {
        visible.push(c);
        places.extend(at..at + c.len_utf8());
    }
    let mut spans = find(&visible);
    for Span { range, .. } in &mut spans {
        *range = places[range.start]..places[range.end - 1] + 1;
    }
    spans
}

fn apply(rule: &Rule, input: &str, spans: &mut Vec<Span>) {
    let bytes = input.as_bytes();
    for caps in rule.regex.captures_iter(bytes) {
        let range = match (caps.name("part"), caps.name("whole")) {
            (Some(part), _) => part.range(),
            (None, Some(whole)) if rule.assigned => continued(bytes, assigned(bytes, whole.range())),
            (None, Some(whole)) => continued(bytes, whole.range()),
            (None, None) => continue,
        };
        spans.push(Span::new(range, rule.kind.clone()));
    }
}

/// With what goes on as a token does: providers make them longer than a rule knows.
fn continued(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let more =
        bytes[range.end..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    range.start..range.end + more.count()
}

fn assigned(bytes: &[u8], whole: Range<usize>) -> Range<usize> {
    let matched = &bytes[whole.clone()];
    let Some(separator) = matched.iter().position(|b| matches!(b, b':' | b'=')) else { return whole };
    let skipped =
        matched[separator + 1..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'\\'));
    let start = whole.start + separator + 1 + skipped.count();
    start..whole.end.max(start)
}

/// Whether `value` is nothing but what an earlier run put there.
fn is_mark(value: &str) -> bool {
    let mut rest = value;
    while let Some(tail) = rest.strip_prefix(MARK) {
        match tail.split_once(']') {
            Some((kind, after)) if !kind.contains(char::is_whitespace) => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Brings a range of bytes to character boundaries, outwards, and to the bracket of a mark.
fn widen(input: &str, range: &Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start.min(input.len()), range.end.min(input.len()));
    while !input.is_char_boundary(start) {
        start -= 1;
    }
    while !input.is_char_boundary(end) {
        end += 1;
    }
    if input[..start].ends_with('[') && input[start - 1..].starts_with(MARK) {
        start -= 1;
    }
    start..end
}

/// Overlapping secrets become one, under the name of the first.
fn replace(input: &str, mut spans: Vec<Span>) -> String {
    spans.sort_by_key(|s| (s.range.start, usize::MAX - s.range.end));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                last.range.end = last.range.end.max(span.range.end);
            }
            _ => merged.push(span),
        }
    }
    let mut output = String::with_capacity(input.len());
    let mut at = 0;
    for Span { range, kind } in merged {
        output.push_str(&input[at..range.start]);
        output.push_str(MARK);
        output.push_str(&kind);
        output.push(']');
        at = range.end;
    }
    output.push_str(&input[at..]);
    output
}
