use proptest::prelude::*;

use super::*;

fn weight(weights: &Weights, token: &str) -> Option<f32> {
    let at = weights.0.binary_search(&term_id(token)).ok()?;
    weights.1.get(at).copied()
}

#[test]
fn follows_the_formula() {
    let document = encode_document_with_average("disk disk full", 3.0);
    // Length equals the average, so the norm is k1: tf·(k1+1)/(tf+k1).
    assert_eq!(weight(&document, "full"), Some(1.0));
    assert!((weight(&document, "disk").unwrap() - 2.0 * 2.2 / 3.2).abs() < 1e-6);
}

#[test]
fn long_documents_weigh_less_and_repeats_saturate() {
    let short = encode_document("磁盘告警");
    let long = encode_document(&format!("磁盘告警 {}", "其他内容 ".repeat(200)));
    assert!(weight(&short, "磁盘") > weight(&long, "磁盘"));
    let often = encode_document(&"disk ".repeat(1000));
    assert!(weight(&often, "disk").unwrap() < K1 + 1.0);
}

#[test]
fn a_query_counts_each_term_once() {
    let (ids, weights) = encode_query("disk, Disk and DISKS on 服务器 and 服务器");
    assert_eq!(ids.len(), tokens("disk 服务器").len());
    assert!(weights.iter().all(|w| *w == 1.0));
}

#[test]
fn term_ids_are_murmur3() {
    // Reference value of murmur3 (x86, 32 bits, seed 0) for "hello".
    assert_eq!(term_id("hello"), 0x248b_fa47);
}

proptest! {
    #[test]
    fn vectors_are_sorted_distinct_and_finite(text in any::<String>()) {
        for (ids, weights) in [encode_document(&text), encode_query(&text)] {
            prop_assert_eq!(ids.len(), weights.len());
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(weights.iter().all(|w| w.is_finite() && *w > 0.0));
        }
    }

    #[test]
    fn a_query_finds_the_document_it_was_taken_from(text in "[a-z磁盘满了重启0-9 ._-]{0,60}") {
        prop_assert_eq!(encode_query(&text).0, encode_document(&text).0);
    }
}
