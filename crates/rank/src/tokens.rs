//! Token counts as `o200k_base` gives them (GPT-4o and later); the vocabulary is inside the crate.

/// Exact number of tokens of `text`; special tokens in it count as ordinary text.
pub fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().count_ordinary(text)
}

/// Loads the vocabulary (tenths of a second), so that the first recall does not pay for it.
pub fn warm() {
    count("");
}
