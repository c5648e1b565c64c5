//! The budget is exact, what does not fit is counted, and parts add up to the whole.

use proptest::prelude::*;

use super::*;
use crate::count_tokens;

fn mixed() -> Vec<Memory> {
    let mut memories: Vec<Memory> =
        [3, 9, 25].map(|steps| Memory::Experience(Box::new(long_run(steps)))).into();
    memories.push(Memory::Fact(fact("k", "the api container restarts every night 每晚重启")));
    memories.push(Memory::Lesson(lesson("1", QUERY, "look at its memory limit", Stage::Active)));
    memories
}

fn within(budget: usize, style: Style) -> Written {
    write(QUERY, &mixed(), style, budget)
}

#[test]
fn a_path_loses_whole_steps_before_the_run_is_left_out() {
    let full = within(100_000, Style::default());
    let mut last = full.items;
    let (mut shortened, mut counted) = (false, false);
    for budget in (0..full.tokens).rev().step_by(7) {
        let written = within(budget, Style::default());
        assert!(written.tokens <= budget);
        let text = &written.text;
        for line in text.lines().filter(|l| l.contains("`probe`")) {
            assert!(line.contains("port ") && (line.ends_with("closed") || !line.contains("→")), "{line}");
        }
        shortened |= text.contains("more step");
        if written.items > 0 && written.left_out > 0 {
            assert!(text.contains("more relevant memor"), "{text}");
            counted = true;
        }
        last = last.min(written.items);
    }
    assert!(shortened && counted);
    assert_eq!(last, 0);
}

#[test]
fn every_count_of_what_is_left_out_takes_no_more_room_than_the_longest() {
    for language in [Language::English, Language::Chinese] {
        for format in [BlockFormat::Markdown, BlockFormat::Json] {
            let longest = count_tokens(&format.tail(MOST_LEFT_OUT, language));
            assert!((0..=MOST_LEFT_OUT).all(|n| count_tokens(&format.tail(n, language)) <= longest));
        }
    }
}

fn style() -> impl Strategy<Value = Style> {
    let format = prop_oneof![Just(BlockFormat::Markdown), Just(BlockFormat::Json)];
    let language = prop_oneof![Just(None), Just(Some(Language::English)), Just(Some(Language::Chinese))];
    (format, language).prop_map(|(format, language)| Style { format, language })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_budget_is_never_exceeded_and_the_size_is_exact(budget in 0usize..1_500, style in style()) {
        let written = within(budget, style);
        prop_assert!(written.tokens <= budget);
        prop_assert_eq!(written.tokens, count_tokens(&written.text));
        prop_assert_eq!(written.items == 0, written.text.is_empty());
    }

    /// What `Block` relies on: the tokenizer splits behind every line whose next begins with neither white
    /// space nor a slash.
    #[test]
    fn parts_add_up(
        parts in prop::collection::vec(
            "[^\\s/](\\PC|[ \\n/`.·→\"'<>{}\\[\\],:0-9A-Za-z]|用|户|\u{301}){0,30}\n{1,2}",
            1..6,
        ),
    ) {
        let sum: usize = parts.iter().map(|p| count_tokens(p)).sum();
        prop_assert_eq!(sum, count_tokens(&parts.concat()), "{:?}", parts);
    }
}
