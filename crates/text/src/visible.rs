//! What of a text can be seen.

/// Text on one line: white space and control characters become single spaces, invisible characters vanish.
/// Reads at most `max` visible characters: enough for any cut, and a bound on the work.
pub fn one_line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let visible = text.chars().filter(|c| !is_invisible(*c)).take(max);
    for c in visible {
        // Line and paragraph separators count as white space; other controls are treated alike.
        if c.is_whitespace() || c.is_control() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Characters that show nothing and can hide or reorder text: zero-width marks, bidirectional controls,
/// variation selectors, interlinear marks, the tag block.
pub fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0
        | 0xFFF0..=0xFFFB | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::{is_invisible, one_line};

    #[test]
    fn one_line_is_what_one_sees() {
        assert_eq!(one_line(" 一\u{200b}行\r\n\u{2028}two\u{0}\u{202e}x\u{E0041} ", 100), "一行 two x");
        assert_eq!(one_line("abcdef", 3), "abc");
        assert_eq!(one_line("\n\t", 9), "");
        assert!(is_invisible('\u{FEFF}') && !is_invisible('，'));
    }
}
