use crate::script::is_unspaced;

/// A stretch of text that is cut further by its own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    /// Characters of a script without spaces.
    Unspaced(&'a str),
    /// Letters and digits, with the punctuation that holds an identifier, path, date or address together.
    Word(&'a str),
}

/// Splits a text into runs, in order. Everything else (spaces, brackets, quotes, emoji) separates.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.char_indices().find(|&(at, c)| starts_run(c, &rest[at + c.len_utf8()..]))?.0;
        let from_start = &rest[start..];
        let first = from_start.chars().next()?;
        let end = if is_unspaced(first) { unspaced_end(from_start) } else { word_end(from_start) };
        let (run, after) = from_start.split_at(end);
        rest = after;
        Some(if is_unspaced(first) { Run::Unspaced(run) } else { Run::Word(run) })
    })
}

fn starts_run(c: char, after: &str) -> bool {
    c.is_alphanumeric() || is_unspaced(c) || (c == '/' && after.starts_with(is_word_char))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

fn unspaced_end(text: &str) -> usize {
    text.find(|c| !is_unspaced(c)).unwrap_or(text.len())
}

fn word_end(text: &str) -> usize {
    let mut end = 0;
    let mut previous = None;
    while let Some(c) = text[end..].chars().next() {
        let after = &text[end + c.len_utf8()..];
        end += match c {
            _ if is_word_char(c) || is_combining(c) => c.len_utf8(),
            '/' if previous.is_none() => 1,
            ':' if after.starts_with("//") && after[2..].starts_with(is_word_char) => 3,
            ',' if previous.is_some_and(|p: char| p.is_ascii_digit()) && starts_thousands(after) => 1,
            _ if joins(c) && after.starts_with(is_word_char) => c.len_utf8(),
            _ => break,
        };
        previous = Some(c);
    }
    end
}

fn joins(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '\'')
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}')
}

/// Three digits and no fourth, as after the comma in `1,250`.
fn starts_thousands(after: &str) -> bool {
    let digits = after.bytes().take(4).take_while(u8::is_ascii_digit).count();
    digits == 3
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("see /var/log/app.log.", &["see", "/var/log/app.log"])]
    #[case("GET https://pay.example.com:8443/v1/x?id=7", &["GET", "https://pay.example.com:8443/v1/x", "id", "7"])]
    #[case("(INV-78901), 2024-05-20; v1.2.3", &["INV-78901", "2024-05-20", "v1.2.3"])]
    #[case("paid 1,250.50 for 3,4", &["paid", "1,250.50", "for", "3", "4"])]
    #[case("it's --force", &["it's", "force"])]
    #[case("端口8080被占用", &["端口", "8080", "被占用"])]
    #[case("a@b.example <x_y>", &["a@b.example", "x_y"])]
    #[case("… — !?", &[])]
    fn cuts_into_runs(#[case] text: &str, #[case] expected: &[&str]) {
        let got: Vec<&str> = runs(text)
            .map(|run| match run {
                Run::Unspaced(s) | Run::Word(s) => s,
            })
            .collect();
        assert_eq!(got, expected);
    }
}
