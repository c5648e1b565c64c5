//! Which format a record is in, is told from the record, by one format alone.

use hindsight_import::{FORMATS, Format};
use serde_json::Value;

use crate::support::{SAMPLES, read};

/// The records of a sample: lines, elements, or the whole.
fn records(text: &str) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        Ok(value) => vec![value],
        Err(_) => text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|_| Value::from(l))).collect(),
    }
}

#[test]
fn no_format_claims_a_record_of_another() {
    for (name, text, format) in SAMPLES {
        for record in records(text) {
            let claims = FORMATS.iter().filter(|f| f.recognises(&record)).map(|f| f.name());
            let others: Vec<_> = claims.filter(|f| *f != format).collect();
            assert!(others.is_empty(), "{name}: {others:?} claim {record}");
        }
    }
}

#[test]
fn every_sample_is_recognised_by_its_first_record() {
    for (name, text, format) in SAMPLES {
        assert_eq!(read(text).format, format, "{name}");
    }
}

#[test]
fn every_format_has_a_sample_and_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = FORMATS.map(Format::name).into();
    assert_eq!(names.len(), FORMATS.len());
    assert_eq!(names, SAMPLES.iter().map(|(_, _, format)| *format).collect());
    assert!(names.iter().all(|n| hindsight_import::formats::by_name(n).is_some()));
}
