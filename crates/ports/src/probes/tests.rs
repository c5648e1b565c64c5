use proptest::prelude::*;

use super::*;

const SAID: &str = "My sister's name is Rosalind, she lives in Łódź and breeds otters.";

fn finds(probes: &Probes, bytes: &[u8]) -> bool {
    let (read, found) = probes.scan(bytes).unwrap();
    assert_eq!(read, bytes.len() as u64);
    !found.is_empty()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes.iter().flat_map(|b| (0..8).rev().map(move |n| b >> n & 1)).collect();
    let value = |six: &[u8]| (0..6).fold(0, |v, n| v << 1 | six.get(n).copied().unwrap_or(0));
    bits.chunks(6).map(|six| ALPHABET[usize::from(value(six))]).collect()
}

#[test]
fn what_says_too_little_is_not_looked_for() {
    for text in ["", "ok", "fifteen bytes!!", &" ".repeat(400), &"-=".repeat(80)] {
        assert!(Probes::of([text]).is_empty(), "{text:?}");
    }
}

#[test]
fn a_chinese_text_is_found() {
    let probes = Probes::of(["我妹妹住在罗兹，养水獭"]);
    assert!(finds(&probes, "备忘：我妹妹住在罗兹，养水獭。".as_bytes()));
    assert!(!finds(&probes, "备忘：我弟弟住在上海，养金鱼。".as_bytes()));
}

#[test]
fn there_is_room_for_so_many() {
    let texts: Vec<String> =
        (0..5_000).map(|n| format!("{n}: something that somebody said, at {n}")).collect();
    let probes = Probes::of(texts.iter().map(String::as_str));
    assert!((MOST_PROBES - 4..=MOST_PROBES).contains(&probes.len()), "{}", probes.len());
    assert_eq!(Probes::from_fingerprints(probes.fingerprints().iter().copied()), probes);
}

proptest! {
    #[test]
    fn a_text_is_found_wherever_it_stands(before in prop::collection::vec(any::<u8>(), 0..200),
                                          after in prop::collection::vec(any::<u8>(), 0..200)) {
        let probes = Probes::of([SAID]);
        let file = [before.as_slice(), SAID.as_bytes(), &after].concat();
        prop_assert!(finds(&probes, &file));
        prop_assert!(finds(&probes, &base64(&file)));
        prop_assert!(!finds(&probes, &[before, after].concat()));
    }

    #[test]
    fn every_place_of_a_text_is_found_in_each_form(text in "[a-z0-9 ]{16,300}", skipped in 0usize..3) {
        let probes = Probes::of([text.as_str()]);
        let (_, plain) = probes.scan(text.as_bytes()).unwrap();
        let padded = [&vec![0xff; skipped], text.as_bytes()].concat();
        let (_, encoded) = probes.scan(base64(&padded).as_slice()).unwrap();
        // Of the four fingerprints of a place, one is plain and one is of this way of cutting; two places may
        // be alike.
        let places = probes.len().div_ceil(4);
        prop_assert!(plain.len() + encoded.len() >= places);
        prop_assert!(probes.is_empty() || (!plain.is_empty() && !encoded.is_empty()));
    }
}

#[test]
fn a_text_is_found_between_blank_blocks() {
    let blank = vec![0; 3 * BLOCK];
    for before in [BLOCK - 7, BLOCK, 2 * BLOCK + 1] {
        let file = [&blank[..before], SAID.as_bytes(), &blank].concat();
        assert!(finds(&Probes::of([SAID]), &file), "after {before} zeros");
    }
    assert!(!finds(&Probes::of([SAID]), &blank));
}
