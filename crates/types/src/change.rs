use crate::{Memory, MemoryKind, Scope};

/// Memories of one kind in one scope were written or removed: copies of what any of its viewers sees are out
/// of date. A scope of the whole tenant stands for all scopes in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MemoryChange {
    pub kind: MemoryKind,
    pub scope: Scope,
}

impl MemoryChange {
    pub fn of(memory: &Memory) -> Self {
        Self { kind: memory.kind(), scope: memory.scope().clone() }
    }
}
