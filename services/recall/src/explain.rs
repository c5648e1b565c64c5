//! Why a memory that was expected did not come: how far it came in the recall of a receipt, what each arm and
//! the score make of it now, and what to do about it.

mod measure;
mod words;

use hindsight_ports::StoreError;
use hindsight_types::{
    FactStatus, Memory, MemoryId, MemoryKind, Receipt, ScoreFactors, Timestamp, Viewer, Withheld,
    WithheldReason,
};

use crate::engine::Engine;

/// How far a memory came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fate {
    Given {
        why: String,
    },
    /// In that recall, or in one like it now.
    Withheld {
        reason: WithheldReason,
        score: f32,
        now: bool,
    },
    NotShortlisted,
    NotProposed,
    /// By the arm that finds it: why that was dropped.
    NotSearched {
        arm: String,
        why: String,
    },
    KindNotAsked,
    Obsolete,
    NotFound,
    Newer,
    /// A recall like that one gives it now.
    GivenNow,
}

/// What one arm makes of a memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) arm: &'static str,
    /// From 1; `None`: not among the first thousand.
    pub(crate) rank: Option<usize>,
    /// `None`: nothing in common with the question.
    pub(crate) score: Option<f32>,
    /// Places that count as candidates.
    pub(crate) candidates: usize,
    /// Score of the last of them, when there are as many.
    pub(crate) last: Option<f32>,
}

impl Place {
    fn is_candidate(&self) -> bool {
        self.rank.is_some_and(|rank| rank <= self.candidates)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) id: MemoryId,
    pub(crate) kind: Option<MemoryKind>,
    pub(crate) fate: Fate,
    pub(crate) reason: String,
    /// Empty when there is nothing to do.
    pub(crate) remedy: String,
    pub(crate) places: Vec<Place>,
    pub(crate) factors: Option<ScoreFactors>,
    pub(crate) floor: f32,
    /// Score of the last memory that was given.
    pub(crate) last_given: Option<f32>,
    /// What came instead of it.
    pub(crate) instead: Option<MemoryId>,
}

impl Engine {
    /// `viewer`: whoever asks for the explanation, who may see the receipt.
    pub(crate) async fn expect(
        &self,
        viewer: &Viewer,
        receipt: &Receipt,
        id: MemoryId,
    ) -> Result<Expectation, StoreError> {
        let asked = receipt.asked.clone().unwrap_or_default();
        // Neither opens what is another's: whoever may ask for a tenant may ask as any of its agents.
        let viewer = viewer.clone().with_agent(asked.agent.clone()).with_task_type(asked.task_type.clone());
        let mut told = Expectation {
            id,
            kind: None,
            fate: Fate::NotFound,
            reason: String::new(),
            remedy: String::new(),
            places: Vec::new(),
            factors: None,
            floor: self.settings.rank.floor,
            last_given: receipt.injected.iter().map(|item| item.factors.total()).reduce(f32::min),
            instead: None,
        };
        if let Some(memory) = self.find(&viewer, id).await? {
            told.kind = Some(memory.kind());
            // Beside one that is near enough, the others of its kind need be less near.
            if receipt.injected.iter().any(|item| item.kind == memory.kind() && item.memory_id != id) {
                told.floor = self.settings.rank.tail_floor;
            }
            let measured = self.measure(&viewer, receipt, &memory).await?;
            let withheld = receipt.withheld.iter().find(|w| w.memory_id == id).or(measured.withheld.as_ref());
            told.instead = withheld.and_then(|w| w.instead);
            told.fate = fate(receipt, &memory, &measured);
            (told.places, told.factors) = (measured.places, measured.factors);
        }
        words::tell(&mut told, receipt, viewer.user.is_some());
        Ok(told)
    }

    async fn find(&self, viewer: &Viewer, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        let looks = MemoryKind::ALL.map(|kind| self.store.get(viewer, kind, id));
        Ok(futures::future::try_join_all(looks).await?.into_iter().flatten().next())
    }
}

/// What a recall like that of the receipt makes of a memory now.
#[derive(Debug, Default)]
struct Measured {
    places: Vec<Place>,
    shortlisted: bool,
    given: bool,
    withheld: Option<Withheld>,
    factors: Option<ScoreFactors>,
}

fn fate(receipt: &Receipt, memory: &Memory, measured: &Measured) -> Fate {
    let (id, kind) = (memory.id(), memory.kind());
    if let Some(item) = receipt.injected.iter().find(|item| item.memory_id == id) {
        return Fate::Given { why: item.why.clone() };
    }
    if let Some(withheld) = receipt.withheld.iter().find(|w| w.memory_id == id) {
        return Fate::Withheld { reason: withheld.reason, score: withheld.score, now: false };
    }
    if receipt.asked.as_ref().is_some_and(|asked| !asked.kinds.contains(&kind)) {
        return Fate::KindNotAsked;
    }
    if matches!(memory, Memory::Fact(fact) if fact.status == FactStatus::Obsolete) {
        return Fate::Obsolete;
    }
    if made_at(memory) > receipt.at {
        return Fate::Newer;
    }
    let dropped = receipt.arms.iter().find(|arm| {
        arm.kind == kind && !arm.dropped.is_empty() && {
            // Reading the shortlist concerns whatever an arm proposed.
            let by = |place: &&Place| place.arm == arm.arm || arm.arm == "fetch";
            measured.places.iter().filter(by).any(Place::is_candidate)
        }
    });
    if let Some(arm) = dropped {
        return Fate::NotSearched { arm: arm.arm.clone(), why: arm.dropped.clone() };
    }
    match &measured.withheld {
        _ if measured.given => Fate::GivenNow,
        _ if !measured.places.iter().any(Place::is_candidate) => Fate::NotProposed,
        _ if !measured.shortlisted => Fate::NotShortlisted,
        Some(withheld) => Fate::Withheld { reason: withheld.reason, score: withheld.score, now: true },
        None => Fate::NotShortlisted,
    }
}

/// When what is remembered came to be, as far as the memory tells.
fn made_at(memory: &Memory) -> Timestamp {
    match memory {
        Memory::Fact(m) => m.occurred_at,
        Memory::Experience(m) => m.evaluation.evaluated_at,
        Memory::Lesson(m) => m.created_at,
        Memory::FailurePattern(m) => m.first_seen,
        Memory::Step(m) => m.recorded_at,
    }
}
