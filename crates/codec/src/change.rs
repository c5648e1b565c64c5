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

#[cfg(test)]
mod tests {
    use hindsight_types::{MemoryKind, Scope, UserId, Visibility};

    use super::*;

    #[test]
    fn changes_survive_and_what_is_wrong_is_named() {
        let tenant = TenantId::new("acme").unwrap();
        let scope = |visibility| Scope::new(tenant.clone(), visibility);
        let user = Visibility::User(UserId::new("安").unwrap());
        let changes = [
            MemoryChange { kind: MemoryKind::Fact, scope: scope(user) },
            MemoryChange { kind: MemoryKind::Lesson, scope: scope(Visibility::Tenant) },
        ];
        let mut told = changes_to_proto(&changes);
        assert_eq!(changes_from_proto(&tenant, told.clone()).unwrap(), changes);
        told.changes[1].kind = 0;
        let wrong = changes_from_proto(&tenant, told).unwrap_err();
        assert_eq!(wrong.fields[0].field, "changes[1].kind");
    }
}
