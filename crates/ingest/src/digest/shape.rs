//! What is the same in lines that say the same: times, numbers and ids are set aside.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Longer lines are the same when their beginnings are.
const READ: usize = 400;

/// A key of what a line says, whatever its times, numbers and ids.
pub(super) fn of(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let bytes = &line.as_bytes()[..line.len().min(READ)];
    for word in bytes.split(|b| !is_word(*b)).filter(|w| !w.is_empty()) {
        if is_id(word) { hasher.write_u8(0) } else { word.hash(&mut hasher) }
    }
    hasher.finish()
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || !b.is_ascii()
}

/// Numbers, `29s`, hashes, `4wrhh`, `srxlw`.
fn is_id(word: &[u8]) -> bool {
    let vowel = |b: &u8| matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    if word.len() >= 5 && word.is_ascii() && !word.iter().any(vowel) {
        return true;
    }
    let digits = word.iter().filter(|b| b.is_ascii_digit()).count();
    digits > 0 && (digits * 4 >= word.len() || word.len() >= 5 && word.iter().all(u8::is_ascii_alphanumeric))
}
