//! Other ids of a user, and what is kept of how they came to be the user's.

use hindsight_ports::StoreError;
use hindsight_types::{SubjectMerge, TenantId, Timestamp, UserId};

use super::runs::{after, keywords};
use crate::{
    collection::Collection,
    field,
    fields::micros,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
};

/// Most merges of one user that are looked at.
const MERGES: usize = 500;
/// Merges of merges that are followed.
const DEPTH: usize = 8;

/// The user, and every id that is another name of theirs then.
pub(super) async fn of(
    backend: &ScopedBackend,
    tenant: &TenantId,
    user: &UserId,
    at: Timestamp,
) -> Result<Vec<UserId>, StoreError> {
    let mut users = vec![user.clone()];
    for _ in 0..DEPTH {
        let known = users.len();
        for merge in merges(backend, tenant, &users, at).await? {
            if merge.stands(at) && users.contains(&merge.to) && !users.contains(&merge.from) {
                users.push(merge.from);
            }
        }
        if users.len() == known {
            break;
        }
    }
    Ok(users)
}

/// Merges that name one of these users.
pub(super) fn naming(tenant: &TenantId, users: &[UserId], at: Timestamp) -> ScopedFilter {
    ScopedFilter::whole(tenant).and(keywords(field::USER, users)).and_not(after(field::AT, micros(at)))
}

pub(super) async fn merges(
    backend: &ScopedBackend,
    tenant: &TenantId,
    users: &[UserId],
    at: Timestamp,
) -> Result<Vec<SubjectMerge>, StoreError> {
    let filter = naming(tenant, users, at);
    let found = backend.scroll(Collection::Merges, filter, Walk::ById(None), MERGES, Show::Record).await?;
    found.points.iter().map(point::decode).collect()
}

/// What these merges moved.
pub(super) fn moved(tenant: &TenantId, merges: &[SubjectMerge]) -> ScopedFilter {
    ScopedFilter::whole(tenant).and(keywords(field::MERGE, merges.iter().map(SubjectMerge::id)))
}
