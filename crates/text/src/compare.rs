use std::collections::BTreeSet;

use crate::tokens;

/// The distinct tokens of a text.
pub fn token_set(text: &str) -> BTreeSet<String> {
    tokens(text).into_iter().collect()
}

/// Jaccard similarity of two token sets, 0 to 1. Two empty sets have nothing in common: 0.
pub fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let shared = a.intersection(b).count();
    ratio(shared, a.len() + b.len() - shared)
}

/// The share of `query` that is found in `text`, 0 to 1. An empty query finds nothing: 0.
pub fn overlap(query: &BTreeSet<String>, text: &BTreeSet<String>) -> f32 {
    ratio(query.intersection(text).count(), query.len())
}

fn ratio(part: usize, whole: usize) -> f32 {
    if whole == 0 { 0.0 } else { part as f32 / whole as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_symmetric_and_bounded() {
        let a = token_set("the disk of db-01 is full");
        let b = token_set("disk full on db-01");
        let c = token_set("双重扣款退款");
        assert_eq!(similarity(&a, &b), similarity(&b, &a));
        assert!(similarity(&a, &b) > 0.9);
        assert_eq!(similarity(&a, &c), 0.0);
        assert_eq!(similarity(&a, &a), 1.0);
        assert_eq!(similarity(&BTreeSet::new(), &BTreeSet::new()), 0.0);
    }

    #[test]
    fn overlap_is_of_the_query() {
        let query = token_set("数据库磁盘");
        let text = token_set("昨晚数据库的磁盘满了，清理日志后恢复");
        assert!(overlap(&query, &text) > overlap(&text, &query));
        assert_eq!(overlap(&BTreeSet::new(), &text), 0.0);
    }
}
