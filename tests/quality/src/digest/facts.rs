//! Which facts an expected root cause names. Fixed before the digest was measured: names and codes by their
//! spelling, messages by being said in the same words. No list of words of this data.

use std::collections::BTreeSet;

/// Words that say nothing alone, so that a message does not begin or end with them.
const STOP: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "do", "does", "for",
    "from", "had", "has", "have", "if", "in", "into", "is", "it", "its", "may", "must", "no", "not", "of",
    "on", "or", "should", "so", "than", "that", "the", "their", "then", "there", "they", "this", "to", "was",
    "were", "which", "will", "with", "you",
];

/// The facts that `cause` mentions and `raw` contains, in lower case:
///
/// - what stands in backticks or double quotes;
/// - names and codes: words with a digit, an inner capital, or one of `_ - . / : = @` between letters or
///   digits, and words of two or more capitals;
/// - messages: the longest runs of two or more words of `cause` that `raw` has in the same order with
///   nothing but blanks and punctuation between, counted from the first to the last word that is no stop word,
///   at least two of them.
///
/// Compared without regard to case and to the kind of quote; at the borders of words.
pub(crate) fn named(cause: &str, raw: &str) -> BTreeSet<String> {
    let text = Normal::new(raw);
    let mut facts: BTreeSet<String> = quoted(cause).chain(codes(cause)).map(|f| normal(&f)).collect();
    facts.extend(messages(cause, &text));
    facts.retain(|f| f.len() >= 2 && text.has(f));
    facts
}

/// A text in which facts are looked for.
pub(crate) struct Normal(String);

impl Normal {
    pub(crate) fn new(text: &str) -> Self {
        Self(format!(" {} ", normal(text)))
    }

    /// Whether it holds the words of `fact`, whole.
    pub(crate) fn has(&self, fact: &str) -> bool {
        let mut from = 0;
        while let Some(at) = self.0[from..].find(fact).map(|i| i + from) {
            let before = self.0[..at].chars().next_back();
            let after = self.0[at + fact.len()..].chars().next();
            let open = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
            if open(before) && open(after) {
                return true;
            }
            from = at + fact.len();
        }
        false
    }
}

/// Lower case, one kind of quote, blanks as one.
fn normal(text: &str) -> String {
    let plain = text.to_lowercase().replace(['\'', '`', '“', '”', '‘', '’'], "\"");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(cause: &str) -> impl Iterator<Item = String> {
    let between = |mark: char| {
        let parts: Vec<String> = cause.split(mark).map(str::to_owned).collect();
        let pairs = parts.len().saturating_sub(1) / 2;
        parts.into_iter().skip(1).step_by(2).take(pairs)
    };
    between('`')
        .chain(between('"'))
        .filter(|q| !q.trim().is_empty() && q.len() <= 120)
        .collect::<Vec<_>>()
        .into_iter()
}

fn codes(cause: &str) -> impl Iterator<Item = String> {
    words(cause).into_iter().filter(|w| is_code(w)).map(str::to_owned)
}

fn is_code(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digit = word.len() >= 2 && word.bytes().any(|b| b.is_ascii_digit());
    let joined =
        word.bytes().any(|b| matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'@')) && letters >= 2;
    let capitals = letters >= 2 && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let inner =
        word.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && word.bytes().any(|b| b.is_ascii_lowercase());
    digit || joined || capitals || inner
}

/// Words without the punctuation around them.
fn words(text: &str) -> Vec<&str> {
    let outer = |c: char| !(c.is_alphanumeric() || matches!(c, '/' | '%'));
    text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '(' | ')' | ',' | ';'))
        .map(|w| w.trim_matches(outer))
        .filter(|w| !w.is_empty())
        .collect()
}

fn messages(cause: &str, raw: &Normal) -> Vec<String> {
    let lower = cause.to_lowercase();
    let words = words(&lower);
    let said = Normal::new(&self::words(&raw.0).join(" "));
    let mut found = Vec::new();
    let mut from = 0;
    while from < words.len() {
        let longest = (from + 2..=words.len()).rev().find(|to| said.has(&words[from..*to].join(" ")));
        let Some(to) = longest else {
            from += 1;
            continue;
        };
        if let Some(message) = content(&words[from..to]) {
            found.push(message);
        }
        from = to;
    }
    found
}

/// From the first to the last word that is no stop word, when there are two.
fn content(words: &[&str]) -> Option<String> {
    let tells = |w: &&str| !STOP.contains(w);
    let first = words.iter().position(tells)?;
    let last = words.iter().rposition(tells)?;
    (last > first).then(|| words[first..=last].join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Normal, named};

    fn facts(cause: &str, raw: &str) -> Vec<String> {
        named(cause, raw).into_iter().collect()
    }

    #[test]
    fn names_codes_and_quotes_count_when_the_output_has_them() {
        let raw = "pod web-1: OOMKilled, exit 137, see DB_HOST at db:5432";
        assert_eq!(facts("The `web-1` was OOMKilled with 137", raw), ["137", "oomkilled", "web-1"]);
        assert_eq!(facts("Pod `web-2` lacks DB_HOST", raw), ["db_host"]);
        assert_eq!(facts("cannot reach db:5432", raw), ["db:5432"]);
    }

    #[test]
    fn messages_are_the_longest_runs_of_the_same_words() {
        let raw = "12:00 ERROR the SSL certificate expired.";
        assert_eq!(facts("The SSL certificate expired", raw), ["ssl", "ssl certificate expired"]);
        assert_eq!(facts("It is the end", raw), Vec::<String>::new(), "one word is no message");
    }

    #[test]
    fn words_are_whole() {
        assert!(Normal::new("web-1").has("web"));
        assert!(!Normal::new("website").has("web"));
        assert!(Normal::new("pod 'web'").has("web"));
    }
}
