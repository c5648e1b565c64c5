use regex::bytes::{Regex, RegexBuilder};

/// Compiles one of our constant patterns. ASCII classes and boundaries: a key glued to a Chinese word is
/// still found, and the fast engine keeps working on text that is not ASCII. Spans must be brought to
/// character boundaries by who cuts a `str` with them.
pub(crate) fn compile(pattern: &str) -> Regex {
    match RegexBuilder::new(pattern).unicode(false).size_limit(64 << 20).build() {
        Ok(regex) => regex,
        Err(e) => unreachable!("pattern {pattern}: {e}"),
    }
}
