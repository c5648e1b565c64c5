/// Holds `text` to `max` bytes by leaving out its middle, and says so where it did. Beginnings name what
/// was done and ends say how it went, so both stay.
pub(crate) fn clip(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    // Room for the longest marker.
    let keep = max.saturating_sub(64);
    let head = text.floor_char_boundary(keep / 2);
    let tail = text.ceil_char_boundary(text.len() - keep / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Holds a name to `max` bytes; names are cut at the end.
pub(crate) fn clip_name(name: &str, max: usize) -> String {
    name[..name.floor_char_boundary(max)].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(clip("重启容器".to_owned(), 12), "重启容器");
    }

    #[test]
    fn head_and_tail_stay_and_the_gap_is_visible() {
        let text = format!("开头{}结尾", "中".repeat(1000));
        let clipped = clip(text, 300);
        assert!(clipped.len() <= 300, "{}", clipped.len());
        assert!(clipped.starts_with("开头") && clipped.ends_with("结尾"));
        assert!(clipped.contains("bytes left out"));
    }
}
