use hindsight_ports::{BusError, EmbedError, Queue, StoreError};
use hindsight_types::{FieldError, Invalid};
use proptest::prelude::*;
use rstest::rstest;
use tonic::{Code, Status};
use tonic_types::{ErrorDetail, StatusExt as _};

use super::*;

fn why() -> String {
    "disk /var/lib/x 坏了".to_owned()
}

#[rstest]
#[case(invalid("t", &Invalid::new("steps[3].action_name", "is required")), Code::InvalidArgument, "INVALID_FIELDS", false)]
#[case(not_found("t", "failure pattern", "x"), Code::NotFound, "FAILURE_PATTERN_NOT_FOUND", false)]
#[case(store("t", StoreError::Unavailable(why())), Code::Unavailable, "STORE_UNAVAILABLE", true)]
#[case(store("t", StoreError::Corrupt(why())), Code::DataLoss, "RECORD_UNREADABLE", false)]
#[case(store("t", StoreError::Rejected(why())), Code::InvalidArgument, "STORE_REJECTED", false)]
#[case(bus("t", BusError::Unavailable(why())), Code::Unavailable, "BUS_UNAVAILABLE", true)]
#[case(bus("t", BusError::Full { queue: Queue::Ingest, depth: 9 }), Code::ResourceExhausted, "QUEUE_FULL", true)]
#[case(bus("t", BusError::Rejected(why())), Code::InvalidArgument, "MESSAGE_REJECTED", false)]
#[case(bus("t", BusError::NotHeld(why())), Code::Aborted, "DELIVERY_NOT_HELD", false)]
#[case(bus("t", BusError::Closed), Code::Unavailable, "SHUTTING_DOWN", true)]
#[case(embed("t", EmbedError::Unavailable(why())), Code::Unavailable, "EMBEDDER_UNAVAILABLE", true)]
#[case(embed("t", EmbedError::Rejected(why())), Code::InvalidArgument, "EMBEDDER_REJECTED", false)]
#[case(
    embed("t", EmbedError::Misconfigured(why())),
    Code::FailedPrecondition,
    "EMBEDDER_MISCONFIGURED",
    false
)]
#[case(internal("t", why()), Code::Internal, "INTERNAL", false)]
#[case(deadline_exceeded("t", "not indexed"), Code::DeadlineExceeded, "DEADLINE_EXCEEDED", false)]
fn every_error_has_one_error_info(
    #[case] status: Status,
    #[case] code: Code,
    #[case] reason: &str,
    #[case] retry: bool,
) {
    assert_eq!(status.code(), code);
    let details = status.check_error_details_vec().unwrap();
    let infos: Vec<_> = details
        .iter()
        .filter_map(|d| if let ErrorDetail::ErrorInfo(i) = d { Some(i) } else { None })
        .collect();
    assert_eq!(infos.len(), 1);
    assert_eq!((infos[0].reason.as_str(), infos[0].domain.as_str()), (reason, "hindsight.t"));
    assert!(reason.len() <= 63 && reason.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    assert_eq!(status.get_details_retry_info().is_some(), retry);
    assert!(!status.message().is_empty());
}

#[rstest]
#[case(store("t", StoreError::Unavailable(why())))]
#[case(store("t", StoreError::Corrupt(why())))]
#[case(bus("t", BusError::Unavailable(why())))]
#[case(bus("t", BusError::NotHeld(why())))]
#[case(embed("t", EmbedError::Misconfigured(why())))]
#[case(internal("t", why()))]
fn what_is_inside_stays_inside(#[case] status: Status) {
    assert!(!status.message().contains("/var/lib"));
    assert!(!String::from_utf8_lossy(status.details()).contains("/var/lib"));
}

#[test]
fn every_field_is_named() {
    let e = Invalid::new("a", "is required").and(Invalid::new("b[0].c", "太长"));
    let status = invalid("t", &e);
    let bad = status.get_details_bad_request().unwrap();
    let fields: Vec<_> = bad.field_violations.iter().map(|v| (&*v.field, &*v.description)).collect();
    assert_eq!(fields, [("a", "is required"), ("b[0].c", "太长")]);
    let info = status.get_details_error_info().unwrap();
    assert_eq!(info.metadata["fields"], "a, b[0].c");
    assert_eq!(info.metadata["omitted"], "0");
}

fn header_bytes(status: Status) -> usize {
    let response = status.into_http::<()>();
    response.headers().iter().map(|(k, v)| k.as_str().len() + v.len() + 32).sum()
}

proptest! {
    #[test]
    fn a_status_always_fits_into_the_headers(
        fields in prop::collection::vec(("\\PC{0,300}", "\\PC{0,2000}"), 0..40),
    ) {
        let n = fields.len();
        let e = Invalid {
            fields: fields.into_iter().map(|(field, problem)| FieldError { field, problem }).collect(),
        };
        let status = invalid("t", &e);
        let named = status.get_details_bad_request().map_or(0, |b| b.field_violations.len());
        let info = status.get_details_error_info().unwrap();
        prop_assert_eq!(named + info.metadata["omitted"].parse::<usize>().unwrap(), n);
        prop_assert!(header_bytes(status) < 16 * 1024);
    }

    #[test]
    fn clipping_keeps_whole_characters(text in "\\PC{0,200}", bytes in 3_usize..64) {
        let clipped = clip(text.clone(), bytes);
        prop_assert!(clipped.len() <= bytes);
        prop_assert!(clipped == text || clipped.ends_with('…'));
    }
}
