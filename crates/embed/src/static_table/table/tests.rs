use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// Two words of two dimensions: `disk` (1, -1) × 2 with weight 1, `磁盘` (-7, 7) × 1 with weight 0.
fn file() -> Vec<u8> {
    let mut rows = [("disk", [255, 255, 255, 9 | 7 << 4]), ("磁盘", [255, 127, 0, 1 | 15 << 4])];
    rows.sort_by_key(|(word, _)| key(word));
    let mut body = Vec::new();
    for number in [2_u32, 2, 2_f32.to_bits()] {
        body.extend(number.to_le_bytes());
    }
    rows.iter().for_each(|(word, _)| body.extend(key(word).to_le_bytes()));
    rows.iter().for_each(|(_, row)| body.extend(row));
    [&MAGIC[..], &Sha256::digest(&body)[..], &body].concat()
}

#[test]
fn gives_the_rows_of_known_words() {
    let file = file();
    let table = Table::read(&file, 2).unwrap();
    let mut sum = [0.0, 0.0];
    let disk = table.row("disk").unwrap();
    disk.add_to(&mut sum, 3.0);
    assert_eq!((disk.weight, sum), (1.0, [6.0, -6.0]));
    let mut sum = [0.0, 0.0];
    let chinese = table.row("磁盘").unwrap();
    chinese.add_to(&mut sum, 1.0);
    assert_eq!(chinese.weight, 0.0);
    assert!((sum[0] + 7.0).abs() < 1e-3 && (sum[1] - 7.0).abs() < 1e-3, "{sum:?}");
    assert!(table.row("pod").is_none());
}

#[rstest]
#[case(0, Damage::Foreign)]
#[case(20, Damage::Digest)]
#[case(40, Damage::Length(68))]
#[case(44, Damage::Dimension(3, 2))]
#[case(48, Damage::Digest)]
#[case(67, Damage::Digest)]
fn tells_a_changed_byte(#[case] at: usize, #[case] expected: Damage) {
    let mut file = file();
    file[at] ^= 1;
    assert_eq!(Table::read(&file, 2).unwrap_err(), expected);
}

#[test]
fn tells_every_missing_end() {
    let file = file();
    for length in 0..file.len() {
        assert_eq!(Table::read(&file[..length], 2).unwrap_err(), Damage::Length(length));
    }
    assert_eq!(Table::read(&[&file[..], &[0]].concat(), 2).unwrap_err(), Damage::Length(file.len() + 1));
}

proptest! {
    #[test]
    fn any_change_is_told(at in 0_usize..68, by in 1_u8..) {
        let mut file = file();
        file[at] ^= by;
        prop_assert!(Table::read(&file, 2).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Table::read(&bytes, 2).is_err());
    }
}
