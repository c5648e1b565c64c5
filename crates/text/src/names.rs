//! Names by which a text is found again: identifiers, codes, hosts, paths, quoted names.

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;

/// Longer texts are read up to here.
const READ_BYTES: usize = 64 * 1024;

static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        // Quoted, on one line.
        r#""(?P<q1>[^"\n]{2,64})"|`(?P<q2>[^`\n]{2,64})`|“(?P<q3>[^”\n]{2,64})”|「(?P<q4>[^」\n]{2,64})」|《(?P<q5>[^》\n]{2,64})》"#,
        // E-mail address, path, URL.
        r"|(?P<x1>(?-u:[\w.+-]+@[\w-]+(?:\.[\w-]+)+)|https?://[^\s\x22'<>,。，；）;)]+|(?:~|\.{1,2})?(?:/[\w.@+-]+){2,})",
        // Host, IP address, dotted name, version; then whatever holds a letter and a digit, `-` or `_`.
        r"|(?P<x2>(?-u:\b[A-Za-z0-9][A-Za-z0-9_-]*(?:[.:#/-][A-Za-z0-9_-]+)+\b|\b[A-Za-z0-9_]{3,}\b))",
    );
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    }
});

/// In order of appearance, without repeats, at most `most` of at most `longest` bytes.
pub fn names(text: &str, most: usize, longest: usize) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(READ_BYTES)];
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for caps in NAMES.captures_iter(text) {
        let quoted = ["q1", "q2", "q3", "q4", "q5"].iter().find_map(|n| caps.name(n));
        let name = match (quoted, caps.name("x1"), caps.name("x2")) {
            (Some(q), _, _) if is_name(q.as_str()) => q,
            (_, Some(x), _) => x,
            (_, _, Some(x)) if is_identifier(x.as_str()) => x,
            _ => continue,
        };
        let name = name.as_str().trim().trim_end_matches(['.', ':', '-']);
        if name.len() <= longest && found.len() < most && seen.insert(name.to_lowercase()) {
            found.push(name.to_owned());
            if found.len() == most {
                break;
            }
        }
    }
    found
}

/// A quoted title or name, not a quoted sentence or a piece of JSON.
fn is_name(s: &str) -> bool {
    s.chars().any(char::is_alphanumeric)
        && s.split_whitespace().count() <= 6
        && !s.contains(['{', '}', ',', '，', '。', ';', '；', '='])
}

/// Letters with digits or joined by a mark; plain words, plain numbers and times are not names.
fn is_identifier(s: &str) -> bool {
    let has = |f: fn(&char) -> bool| s.chars().any(|c| f(&c));
    let letters = has(char::is_ascii_alphabetic);
    let digits = has(char::is_ascii_digit);
    let joined = s.contains(['_', '.', ':', '/', '#']);
    let inner_capital = s.chars().skip(1).any(|c| c.is_ascii_uppercase()) && has(char::is_ascii_lowercase);
    let address = !letters && s.split('.').count() == 4 && s.split('.').all(|p| p.parse::<u8>().is_ok());
    let long_number = !letters && s.len() >= 5 && s.bytes().all(|b| b.is_ascii_digit());
    (letters && (digits || joined || inner_capital)) || address || long_number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 64;
    const LONGEST: usize = 128;

    fn extract(text: &str) -> Vec<String> {
        names(text, MOST, LONGEST)
    }

    #[test]
    fn names_are_found_and_plain_words_are_not() {
        assert_eq!(
            extract(
                "Invoice INV-78901 for order #W2378156 failed on db-1.prod.internal (10.0.0.7), see /var/log/app.log"
            ),
            ["INV-78901", "W2378156", "db-1.prod.internal", "10.0.0.7", "/var/log/app.log"]
        );
        assert_eq!(
            extract("用户 mia_li_3668 的发票INV-78901寄到「中山路店」，联系 a.b@example.com"),
            ["mia_li_3668", "INV-78901", "中山路店", "a.b@example.com"]
        );
        assert_eq!(
            extract(r#"the service "payment gateway" and `web-7f9c`"#),
            ["payment gateway", "web-7f9c"]
        );
        assert!(extract("Please restart it at once, thank you. It took 12 minutes.").is_empty());
    }

    #[test]
    fn repeats_count_once_and_the_number_is_bounded() {
        let many: String = (0..200).map(|i| format!("id-{i} ID-{i} ")).collect();
        assert_eq!(extract(&many).len(), MOST);
    }

    proptest! {
        #[test]
        fn any_text_gives_names_within_the_limits(text in "\\PC{0,400}") {
            let found = extract(&text);
            prop_assert!(found.len() <= MOST);
            prop_assert!(found.iter().all(|n| !n.is_empty() && n.len() <= LONGEST && text.contains(n.as_str())));
        }
    }
}
