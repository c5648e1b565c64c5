use unicode_normalization::UnicodeNormalization;

/// The form in which names are compared: NFKC, lower case, every run of white space one blank.
pub fn entity_key(name: &str) -> String {
    let normal: String = name.nfkc().flat_map(char::to_lowercase).collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_however_it_is_written() {
        assert_eq!(entity_key("INV-78901"), "inv-78901");
        assert_eq!(entity_key("  Ｒｅｄｉｓ\u{3000} Cluster "), "redis cluster");
        assert_eq!(entity_key("李雷"), "李雷");
        assert_eq!(entity_key(" \t"), "");
    }
}
