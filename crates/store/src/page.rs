//! Pages of records, newest first; equal times by id. A position is a time and an id, so a token stays
//! small however many records share a time, and a page continues where the last one ended even when
//! records were written between.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hindsight_ports::{Page, PageRequest, StoreError};
use hindsight_types::{Scope, TenantId, Viewer, Visibility};
use prost::Message;
use qdrant_client::qdrant::{Condition, RetrievedPoint};
use uuid::Uuid;

use crate::{
    collection::Collection,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk, next_id},
    stored::Stored,
};

/// Size of a page that asks for none.
const DEFAULT: usize = 50;
/// Larger pages are cut to this.
const LARGEST: usize = 500;
/// Longer tokens are not ours.
const TOKEN_BYTES: usize = 256;

/// The next record is at `micros` or older; at exactly `micros`, its id is not below `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    micros: i64,
    id: Option<Uuid>,
}

/// One page of what `viewer` may read in `collection`. `narrow` restricts it further.
pub(crate) async fn page<T: Stored>(
    backend: &ScopedBackend,
    viewer: &Viewer,
    collection: Collection,
    request: &PageRequest,
    narrow: impl FnOnce(ScopedFilter) -> ScopedFilter,
) -> Result<Page<T>, StoreError> {
    selected(backend, viewer, collection, "", request, narrow).await
}

/// The same where a list may be narrowed in many ways: a token is of the list that `which` names alone.
pub(crate) async fn selected<T: Stored>(
    backend: &ScopedBackend,
    viewer: &Viewer,
    collection: Collection,
    which: &str,
    request: &PageRequest,
    narrow: impl FnOnce(ScopedFilter) -> ScopedFilter,
) -> Result<Page<T>, StoreError> {
    let visibilities: Vec<String> = viewer.visibilities().iter().map(|v| v.keyword()).collect();
    let whose = format!("{}{which}", visibilities.join("\n"));
    let list = List { collection, binding: binding(collection, &viewer.tenant, &whose) };
    let filter = ScopedFilter::readable(viewer, collection).map(narrow);
    list.page(backend, filter, request, |points| point::decode_all(viewer, points)).await
}

/// One page of what there is of a tenant, whoever may see it; see [`ScopedFilter::upkeep`].
pub(crate) async fn upkeep<T: Stored>(
    backend: &ScopedBackend,
    tenant: &TenantId,
    collection: Collection,
    request: &PageRequest,
    narrow: impl FnOnce(ScopedFilter) -> ScopedFilter,
) -> Result<Page<T>, StoreError> {
    let list = List { collection, binding: binding(collection, tenant, "upkeep") };
    let scope = Scope::new(tenant.clone(), Visibility::Tenant);
    let filter = Some(narrow(ScopedFilter::upkeep(&scope)));
    list.page(backend, filter, request, point::decode_readable).await
}

struct List {
    collection: Collection,
    binding: Uuid,
}

impl List {
    async fn page<T>(
        self,
        backend: &ScopedBackend,
        filter: Option<ScopedFilter>,
        request: &PageRequest,
        decode: impl FnOnce(&[RetrievedPoint]) -> Vec<T>,
    ) -> Result<Page<T>, StoreError> {
        let Self { collection, binding } = self;
        let start = parse(&request.token, &binding)?;
        let Some(filter) = filter else {
            return Ok(Page { items: Vec::new(), next_token: String::new() });
        };
        let size = if request.size == 0 { DEFAULT } else { request.size.min(LARGEST) };
        let mut walk = Paging { backend, collection, filter, size, points: Vec::new() };
        let next = walk.run(start).await?;
        Ok(Page {
            items: decode(&walk.points),
            next_token: next.map(|position| token(position, binding)).unwrap_or_default(),
        })
    }
}

struct Paging<'a> {
    backend: &'a ScopedBackend,
    collection: Collection,
    filter: ScopedFilter,
    size: usize,
    points: Vec<RetrievedPoint>,
}

impl Paging<'_> {
    /// Fills `points`; returns where the next page begins.
    async fn run(&mut self, start: Option<Position>) -> Result<Option<Position>, StoreError> {
        let mut before = None;
        if let Some(position) = start {
            if let Some(next) = self.equal(position).await? {
                return Ok(Some(next));
            }
            before = Some(position.micros);
        }
        loop {
            let Some(last) = self.older(before).await? else { return Ok(None) };
            if let Some(next) = self.equal(Position { micros: last, id: None }).await? {
                return Ok(Some(next));
            }
            before = Some(last);
        }
    }

    fn room(&self) -> usize {
        self.size - self.points.len()
    }

    /// Takes what is at exactly `position.micros`, in order of id. Returns where it had to stop.
    async fn equal(&mut self, position: Position) -> Result<Option<Position>, StoreError> {
        if self.room() == 0 {
            return Ok(Some(position));
        }
        let at = Condition::matches(self.collection.time_field(), position.micros);
        let filter = self.filter.clone().and(at);
        let scrolled = self
            .backend
            .scroll(self.collection, filter, Walk::ById(position.id), self.room(), Show::Record)
            .await?;
        self.points.extend(scrolled.points);
        Ok(next_id(scrolled.next)?.map(|id| Position { micros: position.micros, id: Some(id) }))
    }

    /// Takes what is older than `before`, as far as the engine's answer is known to be whole. Returns the
    /// time of the group that the answer may have cut; `None` when nothing older is left.
    async fn older(&mut self, before: Option<i64>) -> Result<Option<i64>, StoreError> {
        let field = self.collection.time_field();
        let filter = match before {
            Some(micros) => self.filter.clone().and_before(field, micros),
            None => self.filter.clone(),
        };
        let wanted = self.room() + 1;
        let scrolled = self
            .backend
            .scroll(self.collection, filter, Walk::NewestFirst(field), wanted, Show::Record)
            .await?;
        let mut found = scrolled
            .points
            .into_iter()
            .map(|p| Ok((time_of(&p, field)?, point::from_point_id(p.id.clone())?, p)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_by_key(|(micros, id, _)| (std::cmp::Reverse(*micros), *id));
        let cut = if found.len() < wanted { None } else { found.last().map(|(micros, ..)| *micros) };
        found.retain(|(micros, ..)| cut.is_none_or(|cut| *micros > cut));
        self.points.extend(found.into_iter().map(|(.., p)| p));
        Ok(cut)
    }
}

fn time_of(point: &RetrievedPoint, field: &str) -> Result<i64, StoreError> {
    point::integer(&point.payload, field)
        .ok_or_else(|| StoreError::Corrupt(format!("point {:?} has no time in `{field}`", point.id)))
}

/// What a page token holds. It carries no authority: the viewer's filter applies to every page.
#[derive(Clone, PartialEq, Message)]
struct Token {
    #[prost(bytes = "vec", tag = "1")]
    binding: Vec<u8>,
    #[prost(sint64, tag = "2")]
    micros: i64,
    /// Empty: from the first id on.
    #[prost(bytes = "vec", tag = "3")]
    id: Vec<u8>,
}

/// Ties a token to the list it came from.
fn binding(collection: Collection, tenant: &TenantId, whose: &str) -> Uuid {
    let name = format!("{}\n{tenant}\n{whose}", collection.name());
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
}

fn token(position: Position, binding: Uuid) -> String {
    let token = Token {
        binding: binding.as_bytes().to_vec(),
        micros: position.micros,
        id: position.id.map(|id| id.as_bytes().to_vec()).unwrap_or_default(),
    };
    URL_SAFE_NO_PAD.encode(token.encode_to_vec())
}

fn parse(token: &str, binding: &Uuid) -> Result<Option<Position>, StoreError> {
    if token.is_empty() {
        return Ok(None);
    }
    let refused =
        || StoreError::Rejected("page_token: is not of this list; begin again without one".to_owned());
    if token.len() > TOKEN_BYTES {
        return Err(refused());
    }
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| refused())?;
    let token = Token::decode(bytes.as_slice()).map_err(|_| refused())?;
    if token.binding != binding.as_bytes() {
        return Err(refused());
    }
    let id = match token.id.as_slice() {
        [] => None,
        bytes => Some(Uuid::from_slice(bytes).map_err(|_| refused())?),
    };
    Ok(Some(Position { micros: token.micros, id }))
}

#[cfg(test)]
mod tests;
