use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use hindsight_types::{Memory, MemoryId, ReceiptId};

/// What was said on a stream, and by which reminder. Two memories that say the same in the same words are one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    ids: BTreeMap<MemoryId, ReceiptId>,
    texts: BTreeMap<u64, ReceiptId>,
}

impl Said {
    /// The reminder that said it.
    pub fn by(&self, memory: &Memory) -> Option<ReceiptId> {
        self.ids.get(&memory.id()).or_else(|| self.texts.get(&text(memory))).copied()
    }

    /// The reminder that said the memory of this id.
    pub(super) fn by_id(&self, memory: MemoryId) -> Option<ReceiptId> {
        self.ids.get(&memory).copied()
    }

    pub(super) fn add(&mut self, memory: &Memory, reminder: ReceiptId) {
        self.ids.insert(memory.id(), reminder);
        self.texts.insert(text(memory), reminder);
    }
}

/// The same for what reads the same.
fn text(memory: &Memory) -> u64 {
    let mut hasher = DefaultHasher::new();
    memory.kind().as_str().hash(&mut hasher);
    let said = match memory {
        Memory::FailurePattern(m) => format!("{}\u{1f}{}\u{1f}{}", m.action_name, m.signature, m.suggestion),
        other => other.text(),
    };
    for word in said.split_whitespace() {
        word.to_lowercase().hash(&mut hasher);
    }
    hasher.finish()
}
