use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use hindsight_types::{TenantId, UserId};

/// Numbers of users that share a counter now and then cost each other a copy, never a stale answer.
const USERS: usize = 4096;
const TENANTS: usize = 64;

/// Which copies are still true, in fixed space. A copy is taken with the stamp from before it was read; it is
/// true as long as the stamp is still the same. So a write that comes while it is read voids it as well.
#[derive(Debug)]
pub(super) struct Freshness {
    /// Odd while changes are heard.
    epoch: AtomicU64,
    tenants: Vec<AtomicU64>,
    users: Vec<AtomicU64>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    epoch: u64,
    tenant: u64,
    user: u64,
}

fn counters(n: usize) -> Vec<AtomicU64> {
    std::iter::repeat_with(AtomicU64::default).take(n).collect()
}

impl Freshness {
    pub(super) fn new() -> Self {
        Self {
            epoch: AtomicU64::default(),
            tenants: counters(TENANTS),
            users: counters(USERS),
            hasher: RandomState::new(),
        }
    }

    /// `None`: changes are not heard, so that nothing can be relied on.
    pub(super) fn stamp(&self, tenant: &TenantId, user: &UserId) -> Option<Stamp> {
        let epoch = self.epoch.load(SeqCst);
        (epoch % 2 == 1).then(|| Stamp {
            epoch,
            tenant: self.tenant(tenant).load(SeqCst),
            user: self.user(tenant, user).load(SeqCst),
        })
    }

    /// Changes are heard from now on; what was changed before may have been missed.
    pub(super) fn joined(&self) {
        let _ = self.epoch.fetch_update(SeqCst, SeqCst, |epoch| Some(epoch + 1 + epoch % 2));
    }

    /// Changes are not heard.
    pub(super) fn lost(&self) {
        let _ = self.epoch.fetch_update(SeqCst, SeqCst, |epoch| Some(epoch + epoch % 2));
    }

    pub(super) fn tenant_changed(&self, tenant: &TenantId) {
        self.tenant(tenant).fetch_add(1, SeqCst);
    }

    pub(super) fn user_changed(&self, tenant: &TenantId, user: &UserId) {
        self.user(tenant, user).fetch_add(1, SeqCst);
    }

    fn tenant(&self, tenant: &TenantId) -> &AtomicU64 {
        &self.tenants[self.place(tenant, TENANTS)]
    }

    fn user(&self, tenant: &TenantId, user: &UserId) -> &AtomicU64 {
        &self.users[self.place((tenant, user), USERS)]
    }

    fn place(&self, key: impl Hash, of: usize) -> usize {
        (self.hasher.hash_one(key) % of as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> (TenantId, UserId) {
        (TenantId::new("acme").unwrap(), UserId::new("安").unwrap())
    }

    #[test]
    fn nothing_is_fresh_while_nothing_is_heard() {
        let (fresh, (tenant, user)) = (Freshness::new(), names());
        let stamp = || fresh.stamp(&tenant, &user);
        assert_eq!(stamp(), None);
        fresh.joined();
        let first = stamp();
        assert!(first.is_some());
        fresh.lost();
        fresh.lost();
        assert_eq!(stamp(), None);
        fresh.joined();
        let second = stamp();
        assert!(second.is_some() && second != first);
        fresh.joined();
        assert!(stamp().is_some() && stamp() != second, "a gap without a loss");
    }

    #[test]
    fn a_change_voids_what_it_concerns() {
        let (fresh, (tenant, user)) = (Freshness::new(), names());
        fresh.joined();
        let stamp = || fresh.stamp(&tenant, &user);
        let before = stamp();
        assert_eq!(stamp(), before);
        fresh.user_changed(&tenant, &user);
        let after = stamp();
        assert_ne!(after, before);
        fresh.tenant_changed(&tenant);
        assert_ne!(stamp(), after);
    }
}
