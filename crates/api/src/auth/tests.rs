use hindsight_types::TenantId;
use http::{HeaderMap, HeaderValue};
use rstest::rstest;
use tonic::{Code, Request};
use tonic_types::StatusExt as _;

use super::*;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn key(name: &str, secret: &str, tenant_name: &str, permissions: &[Permission]) -> Key {
    Key {
        name: name.to_owned(),
        hash: KeyHash::of(secret),
        tenant: tenant(tenant_name),
        permissions: permissions.iter().copied().collect(),
    }
}

fn ring() -> Keyring {
    Keyring::new(vec![
        key("ci", "k-one", "acme", &[Permission::Write]),
        key("desk", "k-two", "globex", &[Permission::Read, Permission::Admin]),
    ])
}

fn headers(authorization: Option<&[u8]>) -> HeaderMap {
    let mut map = HeaderMap::new();
    if let Some(value) = authorization {
        map.insert("authorization", HeaderValue::from_bytes(value).unwrap());
    }
    map
}

#[rstest]
#[case(b"Bearer k-one", "acme", "ci")]
#[case(b"bearer k-two", "globex", "desk")]
#[case(b"Bearer  k-two ", "globex", "desk")]
fn a_key_names_its_tenant(#[case] header: &[u8], #[case] tenant_name: &str, #[case] name: &str) {
    let ring = ring();
    let caller = ring.authenticate(&headers(Some(header))).unwrap();
    assert_eq!((caller.tenant.as_str(), &*caller.key), (tenant_name, name));
}

#[rstest]
#[case(None, "KEY_MISSING")]
#[case(Some(&b"k-one"[..]), "KEY_MALFORMED")]
#[case(Some(&b"Basic k-one"[..]), "KEY_MALFORMED")]
#[case(Some(&b"Bearer "[..]), "KEY_MALFORMED")]
#[case(Some("Bearer 密钥".as_bytes()), "KEY_MALFORMED")]
#[case(Some(&b"Bearer k-three"[..]), "KEY_UNKNOWN")]
#[case(Some(&b"Bearer k-one k-two"[..]), "KEY_UNKNOWN")]
fn anything_else_is_turned_away(#[case] header: Option<&[u8]>, #[case] reason: &str) {
    let status = ring().authenticate(&headers(header)).unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    assert_eq!(status.get_details_error_info().unwrap().reason, reason);
    assert!(!status.message().contains("k-"), "the key must not come back");
}

#[test]
fn the_hash_of_a_key_is_not_the_key() {
    let hash = KeyHash::of("k-one").to_string();
    let status = ring().authenticate(&headers(Some(format!("Bearer {hash}").as_bytes()))).unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
}

#[test]
fn no_keys_lets_nobody_in_and_open_lets_everybody_in() {
    assert!(Keyring::new(Vec::new()).authenticate(&headers(Some(b"Bearer x"))).is_err());
    let open = Keyring::open(tenant("default"));
    let caller = open.authenticate(&headers(None)).unwrap();
    assert!(Permission::ALL.into_iter().all(|p| caller.require(p).is_ok()));
}

#[test]
fn a_permission_that_is_missing_is_named() {
    let ring = ring();
    let caller = ring.authenticate(&headers(Some(b"Bearer k-two"))).unwrap();
    assert!(caller.require(Permission::Read).is_ok());
    let status = caller.require(Permission::Write).unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let info = status.get_details_error_info().unwrap();
    assert_eq!((info.reason.as_str(), info.metadata["permission"].as_str()), ("PERMISSION_MISSING", "write"));
}

#[test]
fn a_request_without_a_caller_is_a_fault_of_ours() {
    assert_eq!(caller(&Request::new(())).unwrap_err().code(), Code::Internal);
}

#[rstest]
#[case("", false)]
#[case("ab", false)]
#[case(&"0".repeat(63), false)]
#[case(&"g".repeat(64), false)]
#[case(&"é".repeat(32), false)]
#[case("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", true)]
#[case("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", true)]
fn hashes_are_64_hexadecimal_digits(#[case] text: &str, #[case] good: bool) {
    let parsed = text.parse::<KeyHash>();
    assert_eq!(parsed.is_ok(), good);
    // FIPS 180-2, example B.1.
    assert!(!good || parsed == Ok(KeyHash::of("abc")));
    assert!(!good || parsed.unwrap().to_string() == text.to_lowercase());
}

#[test]
fn permissions_have_names() {
    for p in Permission::ALL {
        assert_eq!(p.to_string().parse(), Ok(p));
    }
    assert!("root".parse::<Permission>().unwrap_err().to_string().contains("read, write or admin"));
}
