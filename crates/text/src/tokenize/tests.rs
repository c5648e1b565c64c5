use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("Restarted the containers, restarting again", &["restart", "contain", "restart", "again"])]
#[case("INV-78901", &["inv-78901", "inv", "78901"])]
#[case("HTTP 404", &["http", "404"])]
#[case("tail /var/log/app.log", &["tail", "/var/log/app.log", "var", "log", "app", "log"])]
#[case("user_id", &["user_id", "user", "id"])]
#[case("since 2024-05-20", &["sinc", "2024-05-20", "2024", "05", "20"])]
#[case("v1.2.3", &["v1.2.3", "v1"])]
#[case("10.0.3.17", &["10.0.3.17", "10", "17"])]
#[case("CrashLoopBackOff", &["crashloopbackoff", "crash", "loop", "back", "off"])]
#[case("ＫＵＢＥＣＴＬ　ｇｅｔ", &["kubectl", "get"])]
#[case("It’s Caroline’s", &["carolin"])]
#[case("1,250.50", &["1250.50"])]
#[case("容器重启", &["容器", "重启"])]
#[case("订单ORD-7的扣款", &["订单", "ord-7", "ord", "扣款"])]
#[case("赵雅琳的", &["赵", "雅", "琳", "赵雅", "雅琳"])]
#[case("รถไฟ", &["รถ", "ถไ", "ไฟ"])]
#[case("的", &[])]
#[case("", &[])]
#[case("🎉 — \u{0} \u{202e}", &[])]
fn tokens_of(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(tokens(text), expected);
}

#[test]
fn kinds_say_what_a_token_is() {
    let kinds: Vec<Kind> = tokenize("restart user_id 404 磁盘满").into_iter().map(|t| t.kind).collect();
    use Kind::{Code, Han, Number, Pair, Part, Word};
    assert_eq!(kinds, [Word, Code, Part, Part, Number, Han, Han, Pair]);
}

#[test]
fn composed_and_decomposed_spellings_are_one() {
    assert_eq!(tokens("cafe\u{301}"), tokens("café"));
}

#[test]
fn reading_is_bounded() {
    for piece in ["磁盘 full ", "磁盘满", "a/", "哈", "かナ", "Ab", "\u{fdfa}"] {
        let long = piece.repeat(MAX_BYTES);
        let once = tokens(&long);
        assert!(!once.is_empty() && once.len() <= MAX_BYTES, "{piece}");
        assert_eq!(once.len(), tokens(&format!("{long}{long}")).len(), "{piece}");
    }
}

proptest! {
    #[test]
    fn any_text_yields_clean_tokens(text in any::<String>()) {
        for token in tokenize(&text) {
            prop_assert!(!token.text.is_empty());
            prop_assert!(!token.text.contains(char::is_whitespace), "{:?}", token);
            prop_assert!(!is_stop_word(&token.text));
        }
    }

    #[test]
    fn separators_and_letters_in_any_order(text in "[a-zA-Z0-9_./:@,' \\-磁盘满了かナ\u{301}\u{e01}]{0,80}") {
        prop_assert_eq!(tokens(&text), tokens(&text));
    }

    #[test]
    fn what_follows_a_space_does_not_change_what_precedes_it(a in "[a-z0-9./-]{0,20}", b in "[a-z磁盘]{0,20}") {
        let mut expected = tokens(&a);
        expected.extend(tokens(&b));
        prop_assert_eq!(tokens(&format!("{a} {b}")), expected);
    }
}
