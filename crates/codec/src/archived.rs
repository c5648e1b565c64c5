use hindsight_proto::storage::v1 as pb;
use hindsight_types::{Archived, Invalid, MemoryId, TenantId};

use crate::*;

pub(crate) fn archived_to_proto(a: &Archived) -> pb::Archived {
    pb::Archived {
        memory: Some(memory_to_proto(&a.memory)),
        at: Some(time_to_proto(a.at)),
        why: a.why.clone(),
        instead: a.instead.map(|id| id.to_string()).unwrap_or_default(),
        restored_at: a.restored_at.map(time_to_proto),
    }
}

pub(crate) fn archived_from_proto(tenant: &TenantId, a: pb::Archived) -> Result<Archived, Invalid> {
    let memory = a.memory.ok_or_else(|| Invalid::new("memory", "is required"))?;
    let instead = (!a.instead.is_empty()).then(|| MemoryId::parse(&a.instead));
    Ok(Archived {
        memory: memory_from_proto(tenant, memory).map_err(|e| e.within("memory"))?,
        at: time_from_proto("at", a.at)?,
        why: a.why,
        instead: instead.transpose().map_err(|e| e.within("instead"))?,
        restored_at: a.restored_at.map(|at| time_from_proto("restored_at", Some(at))).transpose()?,
    })
}
