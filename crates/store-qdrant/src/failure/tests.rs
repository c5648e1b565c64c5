use super::*;

fn of(code: Code) -> Failure {
    Failure::of("upsert", "http://host:6334", &Status::new(code, "不行"))
}

#[test]
fn only_what_is_wrong_with_the_request_is_rejected() {
    for code in (0..17).map(Code::from).filter(|code| *code != Code::Ok) {
        let wrong = matches!(
            code,
            Code::InvalidArgument
                | Code::NotFound
                | Code::AlreadyExists
                | Code::FailedPrecondition
                | Code::OutOfRange
        );
        let failure = of(code);
        assert_eq!(failure.error.is_transient(), !wrong, "{code:?}: {:?}", failure.error);
        assert!(failure.error.to_string().contains("不行"), "{:?}", failure.error);
    }
}

#[test]
fn only_unavailable_is_worth_another_try() {
    for code in (0..17).map(Code::from) {
        let again = matches!(of(code).kind, Kind::Unsent | Kind::Broken);
        assert_eq!(again, code == Code::Unavailable, "{code:?}");
    }
    assert_eq!(of(Code::NotFound).kind, Kind::Missing);
}

#[test]
fn a_connection_that_was_not_made_is_known() {
    let refused = std::io::Error::other("verbinding geweigerd");
    let status = Status::from_error(Box::new(ConnectError(Box::new(refused))));
    let failure = Failure::of("get", "http://host:6334", &status);
    assert_eq!(failure.kind, Kind::Unsent);
    assert!(failure.error.to_string().contains("verbinding geweigerd"), "{}", failure.error);

    let broken = Status::from_error(Box::new(std::io::Error::other("reset")));
    assert_eq!(Failure::of("get", "x", &broken).kind, Kind::Broken);

    let slow = Status::from_error(Box::new(TimeoutExpired(())));
    assert_eq!(Failure::of("get", "x", &slow).kind, Kind::Final, "a slow server is not asked twice");
}

#[test]
fn a_refused_key_says_what_to_check() {
    for code in [Code::Unauthenticated, Code::PermissionDenied] {
        let failure = of(code);
        assert!(failure.error.is_transient(), "the request is not to blame");
        assert!(failure.error.to_string().contains("API key"), "{}", failure.error);
    }
}
