use std::collections::{BTreeMap, HashSet};

use hindsight_types::{MemoryChange, MemoryKind, Scope, TenantId, Visibility};

/// Scopes of one kind that are named; more are told as the whole tenant. With all kinds a message stays below
/// the 256 changes it may hold.
const SCOPES: usize = 50;

/// Changes that wait to be told, each once.
#[derive(Debug, Default)]
pub(super) struct Pending {
    scopes: BTreeMap<(TenantId, MemoryKind), HashSet<Visibility>>,
    added: u64,
}

impl Pending {
    /// Returns the number of this addition.
    pub(super) fn add(&mut self, changes: Vec<MemoryChange>) -> u64 {
        self.put_back(changes);
        self.added += 1;
        self.added
    }

    pub(super) fn put_back(&mut self, changes: Vec<MemoryChange>) {
        for MemoryChange { kind, scope: Scope { tenant, visibility } } in changes {
            let scopes = self.scopes.entry((tenant, kind)).or_default();
            if scopes.contains(&Visibility::Tenant) {
                continue;
            }
            if visibility == Visibility::Tenant || scopes.len() == SCOPES {
                scopes.clear();
                scopes.insert(Visibility::Tenant);
            } else {
                scopes.insert(visibility);
            }
        }
    }

    /// What waits, by tenant, and the number of the last addition to it.
    pub(super) fn take(&mut self) -> (BTreeMap<TenantId, Vec<MemoryChange>>, u64) {
        let mut by_tenant: BTreeMap<TenantId, Vec<MemoryChange>> = BTreeMap::new();
        for ((tenant, kind), scopes) in std::mem::take(&mut self.scopes) {
            let changes = by_tenant.entry(tenant.clone()).or_default();
            let scope = |visibility| Scope::new(tenant.clone(), visibility);
            changes.extend(scopes.into_iter().map(|v| MemoryChange { kind, scope: scope(v) }));
        }
        (by_tenant, self.added)
    }
}

#[cfg(test)]
mod tests {
    use hindsight_types::UserId;

    use super::*;

    fn change(tenant: &str, kind: MemoryKind, user: &str) -> MemoryChange {
        let visibility = Visibility::User(UserId::new(user).unwrap());
        MemoryChange { kind, scope: Scope::new(TenantId::new(tenant).unwrap(), visibility) }
    }

    #[test]
    fn the_same_change_is_told_once_and_tenants_apart() {
        let mut pending = Pending::default();
        let (ann, bob) = (change("acme", MemoryKind::Fact, "安"), change("acme", MemoryKind::Fact, "bob"));
        let other = change("other", MemoryKind::Fact, "安");
        assert_eq!(pending.add(vec![ann.clone(), ann.clone()]), 1);
        assert_eq!(pending.add(vec![bob.clone(), ann.clone(), other.clone()]), 2);
        let (told, upto) = pending.take();
        let of = |tenant: &str| told[&TenantId::new(tenant).unwrap()].iter().cloned().collect::<HashSet<_>>();
        assert_eq!((of("acme"), of("other"), upto), ([ann, bob].into(), [other].into(), 2));
        assert!(pending.take().0.is_empty());
    }

    #[test]
    fn many_scopes_become_the_whole_tenant_and_stay_few() {
        let mut pending = Pending::default();
        for n in 0..10_000 {
            for kind in MemoryKind::ALL {
                pending.add(vec![change("acme", kind, &format!("u{n}"))]);
            }
        }
        let (told, _) = pending.take();
        let changes: Vec<_> = told.into_values().flatten().collect();
        assert_eq!(changes.len(), MemoryKind::ALL.len());
        assert!(changes.iter().all(|c| c.scope.visibility == Visibility::Tenant));
    }
}
