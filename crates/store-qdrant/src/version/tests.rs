use super::*;

#[test]
fn reads_what_servers_say() {
    let known = [("1.19.0", "1.19"), ("1.16", "1.16"), ("v1.17.2-dev", "1.17"), (" 2.0.0+build ", "2.0")];
    for (text, expected) in known {
        assert_eq!(Version::parse(text).map(|v| v.to_string()).as_deref(), Some(expected), "{text:?}");
    }
    for text in ["", "1", "one.two", "1.", ".1", "版本"] {
        assert_eq!(Version::parse(text), None, "{text:?}");
    }
}

#[test]
fn orders_by_number() {
    let version = |text| Version::parse(text).unwrap_or(Version::UPDATE_MODES);
    assert!(version("1.9.7") < Version::CONDITIONAL_UPSERTS);
    assert!(version("1.15.5") < Version::CONDITIONAL_UPSERTS);
    assert!(version("1.16.0") >= Version::CONDITIONAL_UPSERTS);
    assert!(version("1.16.9") < Version::UPDATE_MODES);
    assert!(version("2.0.0") >= Version::UPDATE_MODES);
}
