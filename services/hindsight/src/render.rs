//! What the API answers, for people to read.

pub(crate) mod evaluation;
pub(crate) mod forgetting;
pub(crate) mod memory;
pub(crate) mod provenance;
pub(crate) mod recall;
pub(crate) mod receipt;
pub(crate) mod trajectory;

use crate::ui::Style;

/// One line of at most `width` characters; what is left out shows as `…`.
pub(crate) fn short(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut room = width;
    for (i, word) in text.split_whitespace().enumerate() {
        let gap = usize::from(i > 0);
        let length = word.chars().count() + gap;
        if length > room {
            line.extend(std::iter::repeat_n(' ', gap).chain(word.chars()).take(room.saturating_sub(1)));
            line.push('…');
            return line;
        }
        line.extend(std::iter::repeat_n(' ', gap));
        line.push_str(word);
        room -= length;
    }
    line
}

pub(crate) fn outcome(value: i32) -> String {
    let word = crate::names::outcome(value);
    let style = match word.as_str() {
        "success" => Style::Green,
        "failure" => Style::Red,
        "partial" => Style::Yellow,
        _ => Style::Dim,
    };
    style.paint(&word)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn text_is_held_to_one_line() {
        assert_eq!(short("a\n  b", 10), "a b");
        assert_eq!(short("checkout keeps restarting", 12), "checkout ke…");
        assert_eq!(short("容器反复重启", 4), "容器反…");
        assert_eq!(short("", 4), "");
        assert_eq!(short("exactly ten", 11), "exactly ten");
    }
}
