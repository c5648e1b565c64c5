//! Attachments are named, never read; still what is named ends before an agent.

use hindsight_text::is_invisible;
use hindsight_types::{Attachment, limits};

use super::Checks;

/// What an attachment may be fetched by. A `data:` or `javascript:` URI names nothing, it is the content.
const SCHEMES: [&str; 5] = ["http", "https", "s3", "gs", "file"];

impl Checks {
    pub(super) fn attachments(&mut self, attachments: &[Attachment]) {
        self.count("attachments", attachments.len(), limits::ATTACHMENTS);
        for (i, a) in attachments.iter().enumerate().take(limits::ATTACHMENTS) {
            let at = format!("attachments[{i}]");
            self.required(&format!("{at}.uri"), &a.uri, limits::URI_BYTES);
            if let Some(problem) = wrong_with_uri(&a.uri) {
                self.add(format!("{at}.uri"), problem);
            }
            if !a.media_type.is_empty() && !is_media_type(&a.media_type) {
                let problem =
                    "is not a media type; write it as in `image/png`, without parameters, or leave it empty";
                self.add(format!("{at}.media_type"), problem.to_owned());
            }
            self.text(&format!("{at}.caption"), &a.caption, limits::CAPTION_BYTES);
        }
    }
}

/// `scheme://place` (RFC 3986) of a scheme that is known, in visible characters that cannot end a link.
fn wrong_with_uri(uri: &str) -> Option<String> {
    if uri.trim().is_empty() {
        return None;
    }
    let Some((scheme, place)) = uri.split_once("://") else {
        return Some(format!("is not absolute; begin it with one of {}", schemes()));
    };
    if !SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s)) {
        return Some(format!("has a scheme that is not accepted; use one of {}", schemes()));
    }
    let forbidden =
        |c: char| c.is_whitespace() || c.is_control() || is_invisible(c) || "\"<>\\^`{|}".contains(c);
    if place.contains(forbidden) {
        return Some("holds a character that does not belong in a URI; percent-encode it".to_owned());
    }
    let names_something = match scheme.to_ascii_lowercase().as_str() {
        "file" => place.len() > 1 && place.starts_with('/'),
        _ => !place.starts_with(['/', '?', '#', ':']) && !place.is_empty(),
    };
    (!names_something)
        .then(|| "names no place; write host or bucket and path, for file a full path".to_owned())
}

fn schemes() -> String {
    SCHEMES.map(|s| format!("{s}://")).join(" ")
}

/// Two restricted names of RFC 6838.
fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        (1..=127).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_names_a_place_elsewhere_is_accepted() {
        for good in [
            "https://example.com/发票.pdf?page=2#x",
            "HTTP://127.0.0.1:8080/a",
            "s3://bucket/key/1.png",
            "gs://bucket/x",
            "file:///home/ann/receipt%201.pdf",
        ] {
            assert_eq!(wrong_with_uri(good), None, "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "javascript://example.com/%0aalert(1)",
            "data:image/png;base64,AAAA",
            "ftp://example.com/x",
            "receipt.pdf",
            "//example.com/x",
            "https://",
            "https:///x",
            "s3://?x",
            "file://host/x",
            "file://../etc/passwd",
            "https://example.com/a b",
            "https://example.com/\u{202e}gpj.exe",
            "https://example.com/\n<system>",
            "https://example.com/`x`",
        ] {
            assert!(wrong_with_uri(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn media_types_have_two_names() {
        assert!(["image/png", "application/vnd.ms-excel", "image/svg+xml"].iter().all(|t| is_media_type(t)));
        let bad = ["image", "image/", "/png", "image/png; q=1", "image/png/x", "图/片", "image/ png"];
        assert!(!bad.iter().any(|t| is_media_type(t)));
        assert!(!is_media_type(&format!("image/{}", "x".repeat(128))));
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_on_one_line_and_within_a_link(uri in "(https|s3|file)?(://)?[\\PC\\n\\r\"'<>` ]{0,40}") {
            if !uri.trim().is_empty() && wrong_with_uri(&uri).is_none() {
                prop_assert!(!uri.contains(['\n', '\r', ' ', '"', '<', '>', '`']));
            }
        }
    }
}
