use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use hindsight_types::{Scope, TenantId, UserId};

/// Numbers of users that share a counter now and then cost each other a copy, never a stale answer.
const USERS: usize = 4096;
const TENANTS: usize = 64;

/// Which copies are still true, in fixed space. A copy is taken with the stamp from before it was read; it is
/// true as long as the stamp is still the same. So a write that comes while it is read voids it as well.
#[derive(Debug)]
pub(super) struct Freshness {
    /// Odd while changes are heard.
    epoch: AtomicU64,
    tenants: Vec<Counter>,
    users: Vec<Counter>,
    hasher: RandomState,
}

/// What happens to the copies of one user, or of a tenant.
#[derive(Debug, Default)]
pub(super) struct Counter {
    changes: AtomicU64,
    /// Writes in this process that are under way: a reader may see what was before or after.
    writes: AtomicU64,
}

impl Counter {
    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, SeqCst);
    }

    pub(super) fn writing(&self) {
        self.writes.fetch_add(1, SeqCst);
    }

    pub(super) fn written(&self) {
        self.changed();
        self.writes.fetch_sub(1, SeqCst);
    }

    /// `None` while something is written.
    fn count(&self) -> Option<u64> {
        (self.writes.load(SeqCst) == 0).then(|| self.changes.load(SeqCst))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    epoch: u64,
    tenant: u64,
    user: u64,
}

fn counters(n: usize) -> Vec<Counter> {
    std::iter::repeat_with(Counter::default).take(n).collect()
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

    /// `None`: nothing can be relied on, because changes are not heard, or one is being made.
    pub(super) fn stamp(&self, tenant: &TenantId, user: &UserId) -> Option<Stamp> {
        let epoch = self.epoch.load(SeqCst);
        if epoch.is_multiple_of(2) {
            return None;
        }
        let user = self.user(tenant, user).count()?;
        Some(Stamp { epoch, tenant: self.tenant(tenant).count()?, user })
    }

    /// As [`stamp`](Self::stamp), of what is in this very scope: what is written for the whole tenant leaves the copies
    /// of a user as they are.
    pub(super) fn stamp_of(&self, scope: &Scope) -> Option<Stamp> {
        let epoch = self.epoch.load(SeqCst);
        if epoch.is_multiple_of(2) {
            return None;
        }
        let count = self.of(scope).count()?;
        Some(match scope.user() {
            Some(_) => Stamp { epoch, tenant: 0, user: count },
            None => Stamp { epoch, tenant: count, user: 0 },
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

    /// Of what is seen in this scope.
    pub(super) fn of(&self, scope: &Scope) -> &Counter {
        match scope.user() {
            Some(user) => self.user(&scope.tenant, user),
            None => self.tenant(&scope.tenant),
        }
    }

    fn tenant(&self, tenant: &TenantId) -> &Counter {
        &self.tenants[self.place(tenant, TENANTS)]
    }

    fn user(&self, tenant: &TenantId, user: &UserId) -> &Counter {
        &self.users[self.place((tenant, user), USERS)]
    }

    fn place(&self, key: impl Hash, of: usize) -> usize {
        (self.hasher.hash_one(key) % of as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use hindsight_types::Visibility;

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
        let of_user = fresh.of(&Scope::new(tenant.clone(), Visibility::User(user.clone())));
        of_user.changed();
        let after = stamp();
        assert_ne!(after, before);
        fresh.of(&Scope::new(tenant.clone(), Visibility::Tenant)).changed();
        let last = stamp();
        assert_ne!(last, after);
        of_user.writing();
        of_user.writing();
        of_user.written();
        assert_eq!(stamp(), None, "one is still being written");
        of_user.written();
        assert!(stamp().is_some() && stamp() != last);
    }
}
