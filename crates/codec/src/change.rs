use hindsight_proto::event::v1::{MemoriesChanged, MemoryChange as PbChange};
use hindsight_types::{Invalid, MemoryChange, TenantId};

use crate::{
    enums::{memory_kind_from_proto, memory_kind_to_proto},
    scope::{scope_from_proto, scope_to_proto},
};

pub fn changes_to_proto<'a>(changes: impl IntoIterator<Item = &'a MemoryChange>) -> MemoriesChanged {
    let change = |c: &MemoryChange| PbChange {
        kind: memory_kind_to_proto(c.kind),
        scope: Some(scope_to_proto(&c.scope)),
    };
    MemoriesChanged { changes: changes.into_iter().map(change).collect() }
}

pub fn changes_from_proto(tenant: &TenantId, told: MemoriesChanged) -> Result<Vec<MemoryChange>, Invalid> {
    let change = |(at, c): (usize, PbChange)| {
        let within = |e: Invalid| e.within(&format!("changes[{at}]"));
        Ok(MemoryChange {
            kind: memory_kind_from_proto(c.kind).map_err(within)?,
            scope: scope_from_proto(tenant, c.scope).map_err(within)?,
        })
    };
    told.changes.into_iter().enumerate().map(change).collect()
}
