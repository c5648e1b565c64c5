use hindsight_ports::testkit::samples::{tenant, user};
use proptest::prelude::*;

use super::*;

fn viewer(name: &str) -> Viewer {
    Viewer::of_tenant(tenant(name))
}

/// Ties a token to what `viewer` reads.
fn bound(viewer: &Viewer, collection: Collection) -> Uuid {
    let visibilities: Vec<String> = viewer.visibilities().iter().map(|v| v.keyword()).collect();
    binding(collection, &viewer.tenant, &visibilities.join("\n"))
}

proptest! {
    #[test]
    fn a_token_holds_its_position(micros: i64, id: Option<[u8; 16]>) {
        let position = Position { micros, id: id.map(Uuid::from_bytes) };
        let binding = bound(&viewer("t"), Collection::Facts);
        let token = token(position, binding);
        prop_assert!(token.len() <= TOKEN_BYTES);
        prop_assert_eq!(parse(&token, &binding).unwrap(), Some(position));
    }

    #[test]
    fn hostile_tokens_are_refused_or_read(token in ".{0,300}") {
        match parse(&token, &Uuid::nil()) {
            Ok(position) => prop_assert_eq!((token.as_str(), position), ("", None)),
            Err(error) => prop_assert!(matches!(error, StoreError::Rejected(_))),
        }
    }
}

#[test]
fn a_token_is_bound_to_its_list() {
    let anna = viewer("t").with_user(Some(user("anna")));
    let bindings = [
        bound(&viewer("t"), Collection::Facts),
        bound(&viewer("t"), Collection::Steps),
        bound(&viewer("u"), Collection::Facts),
        bound(&anna, Collection::Facts),
    ];
    let token = token(Position { micros: 0, id: None }, bindings[0]);
    assert!(parse(&token, &bindings[0]).is_ok());
    for other in &bindings[1..] {
        assert!(matches!(parse(&token, other), Err(StoreError::Rejected(_))));
    }
}
