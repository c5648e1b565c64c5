//! The arguments of a call, also when they were shortened.

use std::borrow::Cow;

use hindsight_text::truncate_chars;

use crate::block::calls::plain;

/// Characters of arguments that a failure pattern keeps.
const KEPT: usize = 300;

/// As a failure pattern keeps them: white space squeezed, and cut off with a mark.
pub fn kept(detail: &str) -> String {
    // Most white space is gone after this many characters; what is farther behind is not read.
    let read = truncate_chars(detail, 8 * KEPT);
    let squeezed = read.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = truncate_chars(&squeezed, KEPT);
    let whole = cut.len() == squeezed.len() && read.len() == detail.len();
    if whole { squeezed } else { format!("{}…", cut.trim_end()) }
}

/// As a person would write them; of JSON that was cut off, as much as is there.
pub fn arguments(detail: &str) -> String {
    plain(&completed(detail))
}

/// JSON that was cut off and marked so, closed; anything else as it is. The last value may be short.
pub fn completed(detail: &str) -> Cow<'_, str> {
    let Some(cut) = detail.strip_suffix('…').filter(|cut| cut.trim_start().starts_with('{')) else {
        return Cow::Borrowed(detail);
    };
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    for c in cut.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => open.push('}'),
            '[' if !quoted => open.push(']'),
            '}' | ']' if !quoted => drop(open.pop()),
            _ => {}
        }
    }
    let mut whole = cut[..cut.len() - usize::from(escaped)].to_owned();
    if quoted {
        whole.push('"');
    }
    // What ends before its value has none.
    let end = whole.trim_end().trim_end_matches(',').len();
    whole.truncate(end);
    if whole.ends_with(':') {
        whole.push_str("null");
    }
    whole.extend(open.into_iter().rev());
    if serde_json::from_str::<serde_json::Value>(&whole).is_ok() {
        Cow::Owned(whole)
    } else {
        Cow::Borrowed(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_off_reads_as_what_is_left() {
        for (detail, expected) in [
            (r#"{"command": "npm install -g typ…"#, "npm install -g typ"),
            (r#"{"file": "/etc/hosts", "lines": [1, 2,…"#, "file=/etc/hosts, lines=[1,2]"),
            (r#"{"env": "prod", "service":…"#, "env=prod, service=null"),
            (r#"{"query": "select \…"#, "select "),
            (r#"{"原因": "重复扣…"#, "重复扣"),
            (r#"{"service": "api", "en…"#, r#"{"service": "api", "en…"#),
            ("api 512Mi…", "api 512Mi…"),
            (r#"{"command": "ls"}"#, "ls"),
            ("{…", ""),
            ("", ""),
        ] {
            assert_eq!(arguments(detail), expected, "{detail}");
        }
    }

    #[test]
    fn a_call_is_cut_as_a_pattern_is() {
        let call = format!(r#"{{"path":  "/srv/app", "remarks": "{}"}}"#, "很长 的 ".repeat(200));
        let kept = kept(&call);
        assert_eq!(kept.chars().count(), 301, "with its mark");
        assert!(arguments(&kept).starts_with("path=/srv/app"), "{}", arguments(&kept));
        assert_eq!(super::kept(" a \n b "), "a b");
        assert_eq!(super::kept(&format!("a{}", " ".repeat(5_000))), "a…");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "(\\{|\\[|\"|\\\\|,|:|…|\\PC){0,40}") {
            let _ = arguments(&text);
            let _ = arguments(&format!("{{{text}…"));
        }
    }
}
