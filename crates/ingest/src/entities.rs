//! Names by which a text is found again: identifiers, codes, hosts, paths, quoted names.

use hindsight_types::limits;

/// In order of appearance, without repeats, at most `limits::TAGS` of at most `limits::ID_BYTES`.
pub fn extract(text: &str) -> Vec<String> {
    hindsight_text::names(text, limits::TAGS, limits::ID_BYTES)
}
