//! Whether a user's last words end the talk.

/// Thanks, a goodbye, a refusal of more.
const CLOSING: [&str; 13] = [
    "thank",
    "bye",
    "that's all",
    "that is all",
    "that will be all",
    "perfect",
    "great",
    "stop",
    "再见",
    "没有了",
    "没别的",
    "好了",
    "可以了",
];

/// Whether these words are next to nothing, or hold one that ends a talk or one of `also`.
pub(crate) fn closes(words: &str, also: &[&str]) -> bool {
    let lower = words.to_lowercase();
    let short = words.split_whitespace().count() <= 2 && words.chars().count() <= 16;
    short || CLOSING.iter().chain(also).any(|c| lower.contains(c))
}
