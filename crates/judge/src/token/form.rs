//! The same thing written otherwise is the same token.

/// Most parts looked at in one word.
const PARTS: usize = 16;

/// Writes the form in which a word is compared: `Payment-API` as `paymentapi`, `1,200.00` as `1200`,
/// `2026-3-1` as `20260301`.
pub(super) fn canonical(text: &str, key: &mut String) {
    key.clear();
    if text.is_ascii() && !text.contains(|c: char| c.is_ascii_alphabetic()) {
        return number(text, key);
    }
    let path = text.contains('/');
    for c in text.chars().filter(|c| path || !matches!(c, '-' | '_')) {
        if c.is_ascii() {
            key.push(c.to_ascii_lowercase());
        } else {
            key.extend(c.to_lowercase());
        }
    }
    if key.is_empty() {
        key.push_str(text);
    }
}

fn number(text: &str, key: &mut String) {
    let mut parts = text.split(['-', '/', '.']);
    if let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
        && year.len() == 4
        && (1..=2).contains(&month.len())
        && (1..=2).contains(&day.len())
    {
        for part in [year, month, day] {
            if part.len() == 1 {
                key.push('0');
            }
            key.push_str(part);
        }
        return;
    }
    key.extend(text.chars().filter(|c| *c != ','));
    if let Some((whole, fraction)) = key.split_once('.')
        && !whole.is_empty()
        && fraction.bytes().all(|b| b == b'0')
    {
        key.truncate(whole.len());
    }
}

/// A word, and what it is put together from that can stand alone: the name in `kind/name`, the file in a
/// path, an id inside a path, an address or a pair.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let joined = text.contains(['/', ':', '@', '+']);
    let pieces = joined.then(|| text.split(['/', ':', '@', '+'])).into_iter().flatten();
    let last = kind_and_name(text);
    let inner = pieces.filter(move |p| Some(*p) != last && stands_alone(p)).take(PARTS);
    std::iter::once(text).chain(last).chain(inner)
}

/// The name in `kind/name`, as in `deploy/web`. Paths have none.
fn kind_and_name(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    (!kind.is_empty() && name.len() >= 3 && !name.contains('/')).then_some(name)
}

/// An identifier with figures, or a file with its ending.
fn stands_alone(piece: &str) -> bool {
    let figures = piece.chars().filter(char::is_ascii_digit).count();
    let letters = piece.chars().filter(|c| c.is_alphabetic()).count();
    let file = piece.find('.').is_some_and(|at| at > 0 && at + 1 < piece.len());
    (figures >= 1 && figures + letters >= 4 && (letters > 0 || figures >= 4)) || (letters >= 4 && file)
}
