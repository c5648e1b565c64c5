//! What may be a name in a question.

use std::collections::BTreeSet;

use hindsight_text::{Kind, entity_key, is_cjk, is_stop_word, tokenize};

/// Most names of a question.
const MOST: usize = 32;
/// Bytes of the longest.
const LONGEST: usize = 128;
/// Capitalised words in a row that make one name.
const RUN: usize = 4;

/// All that may be one: what [`certain`] says, every word, every two words in a row. Asking for what nobody is
/// called costs nothing.
pub(crate) fn possible(text: &str) -> Vec<String> {
    let words: Vec<&str> = plain_words(text).collect();
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    let han = tokenize(text)
        .into_iter()
        .filter(|t| matches!(t.kind, Kind::Han | Kind::Bigram | Kind::Pair) && t.text.chars().count() > 1)
        .map(|t| t.text);
    let all = certain(text).into_iter().chain(words.iter().map(|w| (*w).to_owned())).chain(han).chain(pairs);
    distinct(all.collect())
}

/// Identifiers, what stands in quotes, and words with a capital.
pub(crate) fn certain(text: &str) -> Vec<String> {
    let mut found = hindsight_text::names(text, MOST, LONGEST);
    let mut run: Vec<&str> = Vec::new();
    for word in plain_words(text).chain([""]) {
        if word.chars().next().is_some_and(char::is_uppercase) && run.len() < RUN {
            run.push(word);
            continue;
        }
        if run.len() > 1 {
            found.push(run.join(" "));
        }
        found.extend(run.drain(..).map(str::to_owned));
    }
    found
}

/// The first of each, in the form in which names are compared.
pub(crate) fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let keys = names.into_iter().map(|name| entity_key(&name));
    keys.filter(|key| !key.is_empty() && key.len() <= LONGEST && seen.insert(key.clone()))
        .take(MOST)
        .collect()
}

/// Whether a text, in the form in which names are compared, holds this name as words of its own.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_cjk(c));
    !name.is_empty()
        && text.match_indices(name).any(|(at, found)| {
            let (before, after) = (&text[..at], &text[at + found.len()..]);
            let joined = found.chars().next().is_some_and(is_cjk) || outside(before.chars().next_back());
            let ended = found.chars().next_back().is_some_and(is_cjk) || outside(after.chars().next());
            joined && ended
        })
}

/// Words of scripts with blanks, without those that carry grammar, and without `'s`.
fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’' && c != '-')
        .map(|w| w.trim_matches(['\'', '’', '-']).trim_end_matches("'s").trim_end_matches("’s"))
        .filter(|w| w.chars().nth(1).is_some() && !w.contains(is_cjk) && !is_stop_word(&w.to_lowercase()))
}
