use serde_json::Value;

/// Places in a text at which JSON is looked for.
const TRIES: usize = 64;

/// The JSON object or array in what a model said: alone, in a code fence, after its thoughts, or amid prose.
pub(crate) fn extract(text: &str) -> Option<&str> {
    let after_thoughts = text.rsplit_once("</think>").map_or(text, |(_, rest)| rest);
    let text = after_thoughts.trim();
    if text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok() {
        return Some(text);
    }
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at).take(TRIES);
    let mut best: Option<&str> = None;
    let mut end = 0;
    for at in starts {
        // Within what was found already there is only a part of it.
        if at < end {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(_)) => {
                let found = &text[at..at + values.byte_offset()];
                end = at + found.len();
                // An answer is longer than the examples in the prose around it.
                if best.is_none_or(|b| found.len() > b.len()) {
                    best = Some(found);
                }
            }
            // The text ends within this value, so what follows are pieces of it.
            Some(Err(error)) if error.is_eof() => break,
            _ => {}
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::alone(" {\"a\": [1]}\n", r#"{"a": [1]}"#)]
    #[case::fence("```json\n{\"a\": 1}\n```", r#"{"a": 1}"#)]
    #[case::prose("如下：{\"标签\": \"必要\"}。希望有用 {", r#"{"标签": "必要"}"#)]
    #[case::thoughts("<think>maybe {\"a\": 2222222222}</think>{\"a\": 1}", r#"{"a": 1}"#)]
    #[case::example("as in {\"a\": 1}: {\"a\": [1, 2], \"b\": {}}", r#"{"a": [1, 2], "b": {}}"#)]
    #[case::brace("{not json} [\"but this\"]", r#"["but this"]"#)]
    fn finds_the_answer(#[case] text: &str, #[case] json: &str) {
        assert_eq!(extract(text), Some(json));
    }

    #[rstest]
    #[case("")]
    #[case("I cannot say.")]
    #[case("{\"a\": [1, 2], \"b\": {}")]
    #[case("\"a text\"")]
    fn does_not_make_one_up(#[case] text: &str) {
        assert_eq!(extract(text), None);
    }

    #[test]
    fn nesting_without_end_is_no_answer() {
        assert_eq!(extract(&"[".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn is_valid_json_or_nothing(text in r#"[\[\]{}":, a1真\\]{0,60}"#) {
            if let Some(found) = extract(&text) {
                prop_assert!(serde_json::from_str::<Value>(found).is_ok());
                prop_assert!(text.contains(found));
            }
        }
    }
}
