use std::collections::BTreeMap;

use hindsight_text::entity_key;
use hindsight_types::Memory;

use crate::query::mentions;

/// What a name beside a memory counts, of a name that spoke it or that it is filed under.
const MENTIONED: f32 = 0.5;

/// The names of memories that the question holds, each with its rarity.
pub(super) struct Names<'a, F> {
    /// In the form in which names are compared.
    question: &'a str,
    rarity: F,
    /// Absent: not in the question.
    known: BTreeMap<String, Option<f32>>,
}

impl<'a, F: Fn(&str) -> f32> Names<'a, F> {
    pub(super) fn new(question: &'a str, rarity: F) -> Self {
        Self { question, rarity, known: BTreeMap::new() }
    }

    /// Together, of the names of this memory that are in the question.
    pub(super) fn weight_of(&mut self, memory: &Memory) -> f32 {
        let mut named: BTreeMap<String, f32> = BTreeMap::new();
        for (name, share) in names_of(memory) {
            let key = entity_key(name);
            if let Some(weight) = self.weight(&key) {
                let best = named.entry(key).or_default();
                *best = best.max(share * weight);
            }
        }
        named.values().sum()
    }

    fn weight(&mut self, key: &str) -> Option<f32> {
        if let Some(known) = self.known.get(key) {
            return *known;
        }
        let weight = mentions(self.question, key).then(|| (self.rarity)(key));
        self.known.insert(key.to_owned(), weight);
        weight
    }

    /// Of every name met so far that is in the question.
    pub(super) fn total(&self) -> f32 {
        self.known.values().flatten().sum()
    }
}

fn names_of(memory: &Memory) -> Vec<(&str, f32)> {
    match memory {
        Memory::Fact(m) => {
            let mentioned = m.entities.iter().map(|n| (n.as_str(), MENTIONED));
            std::iter::once((m.speaker.as_str(), 1.0)).chain(mentioned).collect()
        }
        Memory::Experience(m) => m.entities.iter().map(|n| (n.as_str(), 1.0)).collect(),
        Memory::Lesson(m) => m.entities.iter().map(|n| (n.as_str(), 1.0)).collect(),
        Memory::FailurePattern(m) => vec![(m.action_name.as_str(), 1.0)],
        Memory::Step(m) => vec![(m.action_name.as_str(), 1.0)],
    }
}
