use std::fs;

use proptest::prelude::*;
use qdrant_client::qdrant::{
    PointStruct, Value,
    points_update_operation::{Operation, PointStructList},
    value::Kind,
};

use super::*;

fn record(text: &str) -> PointsUpdateOperation {
    let value = Value { kind: Some(Kind::StringValue(text.to_owned())) };
    let point = PointStruct { payload: [("text".to_owned(), value)].into(), ..PointStruct::default() };
    let list = PointStructList { points: vec![point], ..PointStructList::default() };
    PointsUpdateOperation { operation: Some(Operation::Upsert(list)) }
}

fn replayed(path: &Path) -> Vec<PointsUpdateOperation> {
    let mut records = Vec::new();
    Journal::open(path, |record| {
        records.push(record);
        Ok(())
    })
    .unwrap();
    records
}

fn written(path: &Path, texts: &[String]) -> Vec<u64> {
    let mut journal = Journal::open(path, |_| Ok(())).unwrap();
    let mut ends = vec![journal.len()];
    for text in texts {
        journal.append(&record(text)).unwrap();
        ends.push(journal.len());
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cut_anywhere_leaves_the_whole_records(
        texts in prop::collection::vec("[a-z磁盘满]{0,40}", 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let ends = written(&path, &texts);
        let cut = cut.index(*ends.last().unwrap() as usize + 1) as u64;
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let expected: Vec<_> = texts[..whole].iter().map(|text| record(text)).collect();
        prop_assert_eq!(replayed(&path), expected);

        // The torn rest is gone: what is appended now is found again.
        written(&path, &["after".to_owned()]);
        prop_assert_eq!(replayed(&path).len(), whole + 1);
    }

    #[test]
    fn a_flipped_bit_never_yields_a_record_that_was_not_written(
        texts in prop::collection::vec("[a-z]{1,40}", 1..5),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        written(&path, &texts);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        let expected: Vec<_> = texts.iter().map(|text| record(text)).collect();
        prop_assert!(expected.starts_with(&replayed(&path)));
    }
}

#[test]
fn rewound_and_cleared_records_do_not_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut journal = Journal::open(&path, |_| Ok(())).unwrap();
    journal.append(&record("kept")).unwrap();
    let mark = journal.len();
    journal.append(&record("a much longer record that is taken back")).unwrap();
    journal.rewind(mark).unwrap();
    journal.append(&record("next")).unwrap();
    assert_eq!(replayed(&path), [record("kept"), record("next")]);
    journal.clear().unwrap();
    assert_eq!(replayed(&path), []);
    journal.append(&record("new")).unwrap();
    assert_eq!(replayed(&path), [record("new")]);
}

#[test]
fn a_failing_replay_fails_the_opening_and_keeps_the_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    written(&path, &["one".to_owned(), "two".to_owned()]);
    let failed = Journal::open(&path, |_| Err(StoreError::Unavailable("disk full".to_owned())));
    assert!(matches!(failed, Err(StoreError::Unavailable(_))));
    assert_eq!(replayed(&path).len(), 2);
}
