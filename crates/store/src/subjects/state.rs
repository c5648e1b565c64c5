//! Where merges stand. Every turn is a compare-and-swap of the one record that an id has.

use hindsight_ports::{Begun, StoreError};
use hindsight_types::{MergeState, SubjectMerge, TenantId, Timestamp, UserId};
use qdrant_client::qdrant::{PointStruct, RetrievedPoint};

use super::merges;
use crate::{
    collection::Collection,
    point,
    scoped::ScopedBackend,
    swap::{Change, Round, swap},
};

/// Longest chain of merges that is followed.
const CHAIN: usize = 8;

/// What a turn makes of the merge that an id has; `None`: nothing.
struct Turn<F>(F);

impl<F> Change for Turn<F>
where
    F: FnMut(Option<SubjectMerge>) -> Option<SubjectMerge> + Send + Sync,
{
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        let stored = stored.map(point::decode).transpose()?;
        Ok((self.0)(stored).map(|next| point::of(&next)))
    }
}

async fn turn(
    backend: &ScopedBackend,
    tenant: &TenantId,
    from: &UserId,
    turn: impl FnMut(Option<SubjectMerge>) -> Option<SubjectMerge> + Send + Sync,
) -> Result<Option<SubjectMerge>, StoreError> {
    let id = point::id(tenant, SubjectMerge::key(tenant, from));
    swap(backend, Collection::Merges, tenant, [(id, Turn(turn))]).await?;
    Ok(merges(backend, tenant, [SubjectMerge::key(tenant, from)]).await?.pop())
}

pub(super) async fn begin(backend: &ScopedBackend, wanted: &SubjectMerge) -> Result<Begun, StoreError> {
    let tenant = &wanted.scope.tenant;
    let now = wanted.merged_at;
    if wanted.from == wanted.to {
        return Err(StoreError::Rejected(format!("merge: `{}` is the user itself", wanted.from)));
    }
    if let Some(other) = onward(backend, tenant, &wanted.to, now).await? {
        return Ok(Begun::InTheWay(other));
    }
    let stored = turn(backend, tenant, &wanted.from, |stored| match stored {
        Some(known) if known.stands(now) || known.state == MergeState::Undoing => None,
        _ => Some(wanted.clone()),
    });
    let stored = stored.await?.ok_or_else(|| gone(wanted))?;
    if stored.to != wanted.to || !stored.stands(now) {
        return Ok(Begun::InTheWay(stored));
    }
    // Two merges that begin at once could lead in a circle.
    if stored.id() == wanted.id()
        && let Some(other) = onward(backend, tenant, &wanted.to, now).await?
        && leads_to(backend, &other, &wanted.from, now).await?
    {
        set(backend, &stored, MergeState::Undone).await?;
        return Ok(Begun::InTheWay(other));
    }
    Ok(Begun::Stands(stored))
}

/// The merge that stands of this user.
async fn onward(
    backend: &ScopedBackend,
    tenant: &TenantId,
    user: &UserId,
    now: Timestamp,
) -> Result<Option<SubjectMerge>, StoreError> {
    let found = merges(backend, tenant, [SubjectMerge::key(tenant, user)]).await?.pop();
    Ok(found.filter(|merge| merge.stands(now)))
}

async fn leads_to(
    backend: &ScopedBackend,
    first: &SubjectMerge,
    user: &UserId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut merge = first.clone();
    for _ in 0..CHAIN {
        if merge.to == *user {
            return Ok(true);
        }
        match onward(backend, &merge.scope.tenant, &merge.to, now).await? {
            Some(next) => merge = next,
            None => return Ok(false),
        }
    }
    Ok(true)
}

pub(super) async fn retract(
    backend: &ScopedBackend,
    tenant: &TenantId,
    from: &UserId,
    (by, reason): (&str, &str),
    now: Timestamp,
) -> Result<Option<Begun>, StoreError> {
    let Some(merge) = merges(backend, tenant, [SubjectMerge::key(tenant, from)]).await?.pop() else {
        return Ok(None);
    };
    if let Some(other) = onward(backend, tenant, &merge.to, now).await? {
        return Ok(Some(Begun::InTheWay(other)));
    }
    let stored = turn(backend, tenant, from, |stored| {
        let known = stored.filter(|known| known.stands(now))?;
        Some(SubjectMerge {
            state: MergeState::Undoing,
            by: by.to_owned(),
            reason: reason.to_owned(),
            undone_at: Some(now),
            ..known
        })
    });
    let open = |merge: &SubjectMerge| now < merge.open_until();
    let taken_back = |merge: &SubjectMerge| matches!(merge.state, MergeState::Undoing | MergeState::Undone);
    Ok(stored.await?.filter(|merge| open(merge) && taken_back(merge)).map(Begun::Stands))
}

/// Moves a merge on, if it still is this one in this state.
pub(super) async fn set(
    backend: &ScopedBackend,
    merge: &SubjectMerge,
    state: MergeState,
) -> Result<SubjectMerge, StoreError> {
    let tenant = &merge.scope.tenant;
    let stored = turn(backend, tenant, &merge.from, |stored| {
        let known = stored.filter(|known| known == merge && known.state != state)?;
        Some(SubjectMerge { state, ..known })
    });
    stored.await?.ok_or_else(|| gone(merge))
}

pub(super) async fn close(backend: &ScopedBackend, merge: &SubjectMerge) -> Result<(), StoreError> {
    if merge.state == MergeState::Merged {
        set(backend, merge, MergeState::Closed).await?;
    }
    Ok(())
}

/// As it stands now.
pub(super) async fn read(backend: &ScopedBackend, merge: &SubjectMerge) -> Result<SubjectMerge, StoreError> {
    let tenant = &merge.scope.tenant;
    let found = merges(backend, tenant, [SubjectMerge::key(tenant, &merge.from)]).await?.pop();
    found.ok_or_else(|| gone(merge))
}

fn gone(merge: &SubjectMerge) -> StoreError {
    StoreError::Unavailable(format!("the merge of `{}` is gone", merge.from))
}
