use hindsight_ports::testkit::samples::{
    dense, fact, private, shared, sparse, started, step_event, tenant, trace, user,
};
use hindsight_types::{Event, Memory, Viewer};

use super::*;

mod at_rest;
mod compactions;
mod ledger;
mod receipts;

fn retrieved(point: PointStruct) -> RetrievedPoint {
    RetrievedPoint { id: point.id, payload: point.payload, ..Default::default() }
}

fn shown(payload: &HashMap<String, Value>) -> Vec<String> {
    let mut shown: Vec<String> = payload
        .iter()
        .filter(|(field, _)| *field != field::RECORD)
        .map(|(field, value)| format!("{field}={value}"))
        .collect();
    shown.sort();
    shown
}

#[test]
fn a_record_comes_back_as_it_was() {
    let scope = private(&tenant("acme"), "安娜");
    let event = started(&scope, &trace("t"));
    assert_eq!(decode::<Event>(&retrieved(of(&event))).unwrap(), event);
}

#[test]
fn another_kind_of_record_is_corrupt() {
    let event = started(&shared(&tenant("acme")), &trace("t"));
    assert!(matches!(decode::<Memory>(&retrieved(of(&event))), Err(StoreError::Corrupt(_))));
}

#[test]
fn what_stands_in_the_open_must_agree() {
    let event = step_event(&shared(&tenant("acme")), &trace("t"), 0);
    let good = retrieved(of(&event));
    for (field, value) in [
        (field::TENANT, "other"),
        (field::VISIBILITY, "user:anna"),
        (field::RECORD, "not base64!"),
        (field::RECORD, "AAAA"),
    ] {
        let mut bad = good.clone();
        bad.payload.insert(field.to_owned(), value.into());
        assert!(matches!(decode::<Event>(&bad), Err(StoreError::Corrupt(_))), "{field}={value}");
        bad.payload.remove(field);
        assert!(matches!(decode::<Event>(&bad), Err(StoreError::Corrupt(_))), "no {field}");
    }
    let elsewhere = RetrievedPoint { id: Some(to_point_id(Uuid::nil())), ..good };
    assert!(matches!(decode::<Event>(&elsewhere), Err(StoreError::Corrupt(_))));
}

#[test]
fn an_engine_that_answers_too_much_is_not_believed() {
    let tenant = tenant("acme");
    let point = retrieved(of(&Memory::Fact(fact(&tenant, "anna", "tea", 1))));
    let anna = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    assert_eq!(decode_all::<Memory>(&anna, std::slice::from_ref(&point)).len(), 1);
    let others = [Viewer::of_tenant(tenant.clone()), anna.with_user(Some(user("ben")))];
    for viewer in others {
        assert!(matches!(decode_for::<Memory>(&viewer, &point), Err(StoreError::Corrupt(_))));
        assert_eq!(decode_all::<Memory>(&viewer, std::slice::from_ref(&point)), []);
    }
}

#[test]
fn vectors_come_back_as_they_were() {
    let given = Encoding { dense: dense(3), sparse: sparse(&[7, 9]) };
    let Some(VectorsOptions::Vectors(named)) =
        vectors(&given, Some("dense_2")).and_then(|v| v.vectors_options)
    else {
        panic!("vectors are named");
    };
    assert_eq!(named.vectors.len(), 2);
    let none = vectors(&Encoding::default(), Some("dense_2")).and_then(|v| v.vectors_options);
    assert_eq!(none, Some(VectorsOptions::Vectors(NamedVectors::default())));
}
