/// Han, kana, Hangul and their full-width punctuation.
pub fn is_cjk(c: char) -> bool {
    is_unspaced(c)
        || matches!(c, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}' | '\u{3000}'..='\u{303F}' | '\u{FF01}'..='\u{FF65}')
}

/// Han ideographs, with the signs that stand among them (`々`, `〇`).
pub(crate) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}' | '々' | '〇')
}

/// Scripts that put no space between words: Han, kana, Thai, Lao, Myanmar, Khmer.
pub(crate) fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(c,
            '\u{3041}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
            | '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
            && c != '・'
}

/// Whether a reader would call the text Chinese, Japanese or Korean: three in ten of its letters are.
/// (A Chinese sentence about commands holds many Latin letters in few words.)
pub fn mostly_cjk(text: &str) -> bool {
    let (mut cjk, mut letters) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        cjk += usize::from(is_cjk(c));
    }
    cjk > 0 && cjk * 10 >= letters * 3
}

/// The longest prefix of at most `max` characters.
pub fn truncate_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_on_character_boundaries() {
        assert_eq!(truncate_chars("磁盘满了", 2), "磁盘");
        assert_eq!(truncate_chars("disk", 9), "disk");
        assert_eq!(truncate_chars("disk", 0), "");
    }

    #[test]
    fn tells_chinese_from_english_with_a_few_chinese_names() {
        assert!(mostly_cjk("执行 kubectl get pods 后发现容器一直重启"));
        assert!(!mostly_cjk("the service 支付 did not answer, so I restarted the container"));
        assert!(!mostly_cjk("404 --- 500"));
    }
}
