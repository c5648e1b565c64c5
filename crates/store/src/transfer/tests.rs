use std::collections::BTreeSet;

use super::*;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

#[test]
fn every_collection_is_exported_but_that_of_work_under_way() {
    let all: BTreeSet<Collection> = Collection::ALL.into_iter().collect();
    let exported: BTreeSet<Collection> = ORDER.into_iter().collect();
    assert_eq!(exported.len(), ORDER.len(), "each once");
    assert_eq!(
        all.difference(&exported).copied().collect::<Vec<_>>(),
        [Collection::Compactions, Collection::Merges]
    );
}

#[test]
fn a_cursor_is_of_its_tenant_alone() {
    let acme = tenant("acme");
    for place in 0..ORDER.len() {
        for from in [None, Some(Uuid::from_u128(7))] {
            let cursor = Cursor { place, from };
            let token = cursor.token(&acme);
            assert_eq!(Cursor::parse(&acme, &token).unwrap(), cursor);
            assert!(Cursor::parse(&tenant("other"), &token).is_err());
        }
    }
    for wrong in ["x", "AAAA", "茶", &"A".repeat(300)] {
        assert!(matches!(Cursor::parse(&acme, wrong), Err(StoreError::Rejected(_))), "{wrong}");
    }
    assert_eq!(Cursor::parse(&acme, "").unwrap(), Cursor { place: 0, from: None });
}
