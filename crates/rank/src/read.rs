use std::collections::BTreeSet;

use hindsight_text::{token_set, truncate_chars};
use hindsight_types::Memory;

/// Characters of a text that are looked at.
const READ_CHARS: usize = 4_000;

/// The distinct tokens of the first characters of a text: a recall reads many memories and has little time, and
/// what a memory is about stands at its beginning.
pub(crate) fn read(text: &str) -> BTreeSet<String> {
    token_set(truncate_chars(text, READ_CHARS))
}

/// Those of what a memory says itself, and of who said it: questions name people.
pub(crate) fn own(memory: &Memory) -> BTreeSet<String> {
    match memory {
        Memory::Fact(fact) => read(&fact.said()),
        other => read(&other.text()),
    }
}
