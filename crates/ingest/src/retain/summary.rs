use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

use hindsight_text::{is_cjk, similarity, token_set};
use hindsight_types::FactType;
use regex::Regex;

use super::{
    gate::trivial,
    sort,
    talk::{Turn, sentences, transcript},
};

/// Longer texts are summarised. In Latin characters; a Chinese one counts as two.
const LONG: usize = 1_200;
/// Longest summary; a transcript that is shorter stays as it is.
const SUMMARY: usize = 600;
/// What a sentence says that is no small talk.
const PLAIN: u32 = 1;
/// Sentences of a text of which none says more.
const FIRST: usize = 3;
/// Sentences that share so many of their words (Jaccard) say the same.
const ALIKE: f32 = 0.8;

static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(decided?|agreed?|chose|choose|must|need(s|ed)?|because|instead|plan(s|ned)?|important|problem|error|fixed|solved|cause[ds]?)\b|决定|同意|选择|必须|需要|因为|改为|计划|重要|问题|错误|解决|原因|已经";
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    }
});

/// The few sentences of a transcript or a long text that carry names, numbers, preferences, commitments and
/// decisions, in their own words and order. `None`: the text is short enough to stay as it is.
pub fn summarise(text: &str) -> Option<String> {
    let weight = weight(text);
    if weight <= SUMMARY {
        return None;
    }
    let turns = match transcript(text) {
        Some(turns) => turns,
        None if weight <= LONG => return None,
        None => vec![Turn { speaker: "", text: vec![text] }],
    };
    Some(written(&turns, &chosen(&turns)))
}

/// One sentence and whose.
struct Sentence<'a> {
    turn: usize,
    text: &'a str,
}

fn chosen<'a>(turns: &[Turn<'a>]) -> Vec<Sentence<'a>> {
    let of_turn = |(turn, t): (usize, &Turn<'a>)| -> Vec<Sentence<'a>> {
        t.text.iter().flat_map(|text| sentences(text)).map(|text| Sentence { turn, text }).collect()
    };
    let all: Vec<Sentence<'a>> = turns.iter().enumerate().flat_map(of_turn).collect();
    let mut order: Vec<(u32, usize)> = all.iter().map(|s| says(s.text)).zip(0..).collect();
    order.sort_by_key(|(says, place)| (Reverse(*says), *place));
    let tells = order.first().is_some_and(|(says, _)| *says > PLAIN);
    let (mut room, mut places, mut said) = (SUMMARY, Vec::new(), Said::default());
    for (says, place) in order {
        if !places.is_empty() && (says < PLAIN || says == PLAIN && (tells || places.len() == FIRST)) {
            break;
        }
        let Sentence { turn, text } = &all[place];
        // With what stands around it: a line end, a colon and a space, the sign of a cut.
        let cost = weight(text).min(SUMMARY / 2) + weight(turns[*turn].speaker) + 4;
        if cost <= room && said.is_new(text) {
            room -= cost;
            places.push(place);
        }
    }
    places.sort_unstable();
    let mut place = 0;
    let mut all = all;
    all.retain(|_| {
        place += 1;
        places.binary_search(&(place - 1)).is_ok()
    });
    all
}

/// What the summary holds already.
#[derive(Default)]
struct Said<'a> {
    texts: HashSet<&'a str>,
    kept: Vec<(BTreeSet<String>, String)>,
}

impl<'a> Said<'a> {
    /// Not said before in nearly the same words; other digits are another statement.
    fn is_new(&mut self, text: &'a str) -> bool {
        if !self.texts.insert(text) {
            return false;
        }
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let words = token_set(text);
        let new = self.kept.iter().all(|(k, d)| *d != digits || similarity(k, &words) < ALIKE);
        if new {
            self.kept.push((words, digits));
        }
        new
    }
}

/// How much a sentence tells that one may want to know later: 0 for small talk, `PLAIN` for what carries no name,
/// number, preference, commitment or decision.
fn says(sentence: &str) -> u32 {
    if trivial(sentence).is_some() {
        return 0;
    }
    let count = |n: usize, most: u32| u32::try_from(n).unwrap_or(most).min(most);
    let names = count(hindsight_text::names(sentence, 3, 128).len(), 3);
    let proper = count(sentence.split_whitespace().skip(1).filter(|w| is_proper(w)).count(), 3);
    let numbers = u32::from(sentence.contains(|c: char| c.is_ascii_digit()));
    let sort = match sort(sentence) {
        FactType::Other => 0,
        FactType::Event => 2,
        _ => 3,
    };
    let decides = 2 * u32::from(DECIDES.is_match(sentence));
    let asks = u32::from(sentence.ends_with(['?', '？']));
    (PLAIN + 2 * names + proper + 2 * numbers + sort + decides).saturating_sub(2 * asks)
}

/// A capital letter inside a sentence, but for the English `I`, `I'm`.
fn is_proper(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase)
        && (!word.starts_with('I') || chars.next().is_some_and(char::is_alphabetic))
}

/// The sentences of one turn stand behind its speaker, on a line of their own.
fn written(turns: &[Turn<'_>], chosen: &[Sentence<'_>]) -> String {
    let mut out = String::new();
    let mut last = None;
    for Sentence { turn, text } in chosen {
        let speaker = turns[*turn].speaker;
        if last == Some(*turn) {
            out.push_str(if out.ends_with(is_cjk) { "" } else { " " });
        } else {
            out.push_str(if out.is_empty() { "" } else { "\n" });
            if !speaker.is_empty() {
                out.push_str(speaker);
                out.push_str(": ");
            }
        }
        push_cut(&mut out, text);
        last = Some(*turn);
    }
    out
}

/// A sentence without an end is cut.
fn push_cut(out: &mut String, sentence: &str) {
    let mut room = SUMMARY / 2;
    for c in sentence.chars() {
        let weight = 1 + usize::from(is_cjk(c));
        if weight > room {
            out.push('…');
            return;
        }
        room -= weight;
        out.push(c);
    }
}

fn weight(text: &str) -> usize {
    text.chars().map(|c| 1 + usize::from(is_cjk(c))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transcript_becomes_what_was_said_in_it() {
        let idle =
            "Bob: Oh, that is interesting, tell me more about it.\nAnn: Well, it was a day like any other.\n";
        let text = format!(
            "Ann: Hi!\nBob: Hello!\n{}Ann: My train to Lyon leaves on Friday at 9:30. It is a long way.\nBob: Thanks!\n{}Bob: I prefer the window seat.\n",
            idle.repeat(4),
            idle.repeat(4)
        );
        let summary = summarise(&text).unwrap();
        assert!(summary.contains("Ann: My train to Lyon leaves on Friday at 9:30."), "{summary}");
        assert!(summary.contains("Bob: I prefer the window seat."), "{summary}");
        assert!(!summary.contains("Hi!") && !summary.contains("Thanks!"), "{summary}");
    }

    #[test]
    fn a_long_text_keeps_what_it_decides() {
        let text = format!(
            "{}我们决定把发票 INV-78901 寄到上海。{}",
            "天气不错，大家随便聊了聊。".repeat(40),
            "风很大，树叶一直在响。".repeat(40)
        );
        let summary = summarise(&text).unwrap();
        assert!(
            summary.contains("我们决定把发票 INV-78901 寄到上海。") && weight(&summary) <= SUMMARY,
            "{summary}"
        );
    }

    #[test]
    fn filler_is_left_out_and_nothing_is_said_twice() {
        let filler = "今天天气不错，我们随便聊聊吧。";
        let flight = "我决定下周三飞往成都，航班号CA4102";
        let summary = summarise(&format!("{}{flight}", filler.repeat(150))).unwrap();
        assert!(summary.contains(flight) && summary.matches("随便聊聊").count() <= 1, "{summary}");

        let idle = "Ann: Well, I think the weather was rather nice.\nBob: Yes, I think it really was rather nice out there.\n";
        let passport = "My passport number is X4471902 and it expires in June.";
        let text = format!("{}Ann: {passport}\n{}", idle.repeat(50), idle.repeat(50));
        assert_eq!(summarise(&text).unwrap(), format!("Ann: {passport}"));

        let trains = "Ann: My train to Lyon leaves on Friday at 9:30 from the main station.\nBob: My train to Lyon leaves on Friday at 9:45 from the main station.\n";
        let summary = summarise(&trains.repeat(8)).unwrap();
        assert_eq!((summary.matches("9:30").count(), summary.matches("9:45").count()), (1, 1), "{summary}");
    }

    #[test]
    fn a_text_that_says_nothing_is_its_first_sentences() {
        let text = "Ann: The leaves were falling. The river was slow.\nBob: The wind blew.\nAnn: A bird sang.\nBob: It was quiet.\n";
        assert_eq!(
            summarise(&text.repeat(10)).unwrap(),
            "Ann: The leaves were falling. The river was slow.\nBob: The wind blew."
        );
    }

    #[test]
    fn short_texts_and_lists_stay() {
        let list = "name: Ann\ncity: Lyon\nphone: 555-0100\nmail: ann@example.com\n";
        for text in ["I like tea", "", list, &"x".repeat(LONG), &"茶".repeat(LONG / 2)] {
            assert_eq!(summarise(text), None);
        }
        let endless = "x".repeat(LONG + 1);
        assert_eq!(summarise(&endless).unwrap().chars().count(), SUMMARY / 2 + 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_summary_is_short_in_its_own_words_and_the_same_each_time(
            lines in prop::collection::vec("(Ann: |李雷：|)[a-z0-9花A-Z。.!? ]{0,80}", 0..40)
        ) {
            let text = lines.join("\n");
            let summary = summarise(&text);
            prop_assert_eq!(&summary, &summarise(&text));
            if let Some(summary) = summary {
                prop_assert!(weight(&summary) <= SUMMARY, "{}", summary);
                // In the order of the text, without a character that is not in it.
                let plain = |s: &str| s.replace('：', ":").replace([' ', '\n', '…'], "");
                let (own, all) = (plain(&summary), plain(&text));
                let mut rest = all.chars();
                prop_assert!(own.chars().all(|c| rest.any(|other| other == c)), "{}", summary);
            } else {
                prop_assert!(weight(&text) <= LONG);
            }
        }
    }
}
