use std::time::Duration;

use rstest::rstest;
use tonic::Request;

use super::{deadline, page};

#[rstest]
#[case(0, 50)]
#[case(1, 1)]
#[case(500, 500)]
#[case(501, 500)]
#[case(i32::MAX, 500)]
fn sizes_are_clamped(#[case] asked: i32, #[case] given: usize) {
    assert_eq!(page(asked, String::new()).unwrap().size, given);
}

#[test]
fn a_negative_size_and_a_huge_token_are_refused_by_name() {
    assert_eq!(page(-1, String::new()).unwrap_err().fields[0].field, "page_size");
    assert_eq!(page(0, "x".repeat(5000)).unwrap_err().fields[0].field, "page_token");
}

#[rstest]
#[case("2H", Some(Duration::from_secs(7200)))]
#[case("3M", Some(Duration::from_secs(180)))]
#[case("4S", Some(Duration::from_secs(4)))]
#[case("250m", Some(Duration::from_millis(250)))]
#[case("9u", Some(Duration::from_micros(9)))]
#[case("99999999n", Some(Duration::from_nanos(99_999_999)))]
#[case("99999999H", Some(Duration::from_secs(99_999_999 * 3600)))]
#[case("123456789S", None)]
#[case("S", None)]
#[case("", None)]
#[case("-1S", None)]
#[case("+1S", None)]
#[case("10", None)]
#[case("10x", None)]
fn grpc_timeouts(#[case] header: &str, #[case] expected: Option<Duration>) {
    let mut request = Request::new(());
    request.metadata_mut().insert("grpc-timeout", header.parse().unwrap());
    assert_eq!(deadline(&request), expected);
}

#[test]
fn no_header_is_no_deadline_and_tonic_writes_what_we_read() {
    assert_eq!(deadline(&Request::new(())), None);
    let mut request = Request::new(());
    request.set_timeout(Duration::from_millis(1500));
    assert_eq!(deadline(&request), Some(Duration::from_millis(1500)));
}
