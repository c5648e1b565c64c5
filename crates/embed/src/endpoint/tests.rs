use proptest::prelude::*;

use super::*;

fn sizes(lengths: &[usize], count: usize) -> Vec<usize> {
    let texts: Vec<String> = lengths.iter().map(|n| "磁".repeat(*n)).collect();
    requests(&texts, count).map(<[String]>::len).collect()
}

#[test]
fn a_request_is_bounded_in_texts_and_characters() {
    assert_eq!(sizes(&[1; 7], 3), [3, 3, 1]);
    assert_eq!(sizes(&[100_000, 50_000, 1, 200_000, 2], 64), [2, 1, 1, 1]);
    assert!(sizes(&[], 64).is_empty());
}

#[test]
fn empty_texts_are_sent_as_such() {
    assert_eq!(sendable(" \n"), "(empty)");
    assert_eq!(sendable("磁盘"), "磁盘");
    assert_eq!(sendable(&"磁".repeat(9_000)).chars().count(), 6_000);
}

proptest! {
    #[test]
    fn every_text_is_sent_once_in_order(lengths in proptest::collection::vec(0_usize..60_000, 0..12), count in 1_usize..5) {
        let texts: Vec<String> = lengths.iter().map(|n| "x".repeat(*n)).collect();
        let sent: Vec<String> = requests(&texts, count).flatten().cloned().collect();
        prop_assert_eq!(sent, texts);
    }
}
