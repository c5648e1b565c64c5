//! Text as its parts: the turns of a transcript, the sentences of a turn.

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;

/// Fewer turns are no transcript.
const TURNS: usize = 4;
/// Longest name of a speaker, in characters.
const NAME_CHARS: usize = 40;

/// A time before the speaker, as chats are exported: `[2023-05-08 13:56] `.
static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^\s*[\[(]?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}[ T,]+)?\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?[\])]?[ ,-]*";
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    }
});

/// What one speaker said at a time. Empty speaker: the text names none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn<'a> {
    pub(super) speaker: &'a str,
    pub(super) text: Vec<&'a str>,
}

/// The turns of a transcript: lines that begin with a speaker, each with the lines that follow it. `None`: it
/// is none. Speakers come again, which tells them from the labels of a list.
pub(super) fn transcript(text: &str) -> Option<Vec<Turn<'_>>> {
    let (mut turns, mut lines) = (Vec::new(), 0_usize);
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        lines += 1;
        match (spoken(line), turns.last_mut()) {
            (Some((speaker, said)), _) => turns.push(Turn { speaker, text: vec![said] }),
            (None, Some(Turn { text, .. })) => text.push(line.trim()),
            (None, None) => turns.push(Turn { speaker: "", text: vec![line.trim()] }),
        }
    }
    let spoken = turns.iter().filter(|t| !t.speaker.is_empty());
    let (count, speakers) = (spoken.clone().count(), spoken.map(|t| t.speaker).collect::<HashSet<_>>().len());
    (count >= TURNS && count * 2 >= lines && speakers * 2 <= count).then_some(turns)
}

/// `Ann: hello` as its speaker and what was said.
fn spoken(line: &str) -> Option<(&str, &str)> {
    let line = STAMP.find(line).map_or(line, |stamp| &line[stamp.end()..]);
    let (speaker, said) = line.split_once([':', '：'])?;
    let (speaker, said) = (speaker.trim().trim_matches('*'), said.trim().trim_start_matches("**").trim());
    let named = (1..=NAME_CHARS).contains(&speaker.chars().count()) && speaker.contains(char::is_alphabetic);
    let sentence = speaker.contains(['.', '?', '!', '。', '？', '！', ',', '，', '"', '{']);
    (named && !sentence && !said.is_empty() && !said.starts_with("//")).then_some((speaker, said))
}

/// Sentences with their punctuation; a line ends one, too. A dot ends one only before a space.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let (mut sentences, mut start) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        let ends = match c {
            '\n' | '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|s| !s.is_empty());
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_told_by_speakers_that_come_again() {
        let chat = "[2023-05-08 13:56] Ann: Hi!\n13:57 Bob: Where to?\n**Ann**: Lyon,\nby train.\nBob：好的";
        let turns = transcript(chat).unwrap();
        let read: Vec<_> = turns.iter().map(|t| (t.speaker, t.text.join(" "))).collect();
        let expected = [("Ann", "Hi!"), ("Bob", "Where to?"), ("Ann", "Lyon, by train."), ("Bob", "好的")];
        assert!(read.iter().map(|(s, t)| (*s, t.as_str())).eq(expected), "{read:?}");
        for other in [
            "name: Ann\ncity: Lyon\nphone: 555\nmail: a@example.com",
            "Ann: Hi!\nBob: Hello!\nAnn: Bye!",
            "I said: no.\nThen I left.\nIt rained. Note: bring a coat.\nThe end.",
            "http://a.example\nhttp://b.example\nhttp://a.example\nhttp://b.example",
            "",
        ] {
            assert_eq!(transcript(other), None, "{other}");
        }
    }

    #[test]
    fn sentences_end_where_a_reader_sees_it() {
        assert_eq!(
            sentences("It costs 3.50 at a.example. Really?! 是的。明天去；\nok"),
            ["It costs 3.50 at a.example.", "Really?!", "是的。", "明天去；", "ok"]
        );
        assert!(sentences(" \n ").is_empty());
    }
}
