//! What is told of a recall, as messages.

use hindsight_codec::{factors_to_proto, memory_kind_to_proto};
use hindsight_proto::recall::v1::{ExpectedArm, ExpectedFate, ExpectedMemory};

use crate::explain::{Expectation, Fate, Place};

pub(super) fn expected(told: &Expectation) -> ExpectedMemory {
    ExpectedMemory {
        memory_id: told.id.to_string(),
        kind: told.kind.map(memory_kind_to_proto).unwrap_or_default(),
        fate: fate(&told.fate) as i32,
        reason: told.reason.clone(),
        remedy: told.remedy.clone(),
        arms: told.places.iter().map(arm).collect(),
        factors: told.factors.as_ref().map(factors_to_proto),
        floor: told.floor,
        last_given: told.last_given,
        instead: told.instead.map(|id| id.to_string()).unwrap_or_default(),
    }
}

fn fate(fate: &Fate) -> ExpectedFate {
    match fate {
        Fate::Given { .. } => ExpectedFate::Given,
        Fate::Withheld { .. } => ExpectedFate::Withheld,
        Fate::NotShortlisted => ExpectedFate::NotShortlisted,
        Fate::NotProposed => ExpectedFate::NotProposed,
        Fate::NotSearched { .. } => ExpectedFate::NotSearched,
        Fate::KindNotAsked => ExpectedFate::KindNotAsked,
        Fate::Obsolete => ExpectedFate::Obsolete,
        Fate::NotFound => ExpectedFate::NotFound,
        Fate::Newer | Fate::GivenNow => ExpectedFate::Newer,
    }
}

fn arm(place: &Place) -> ExpectedArm {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    ExpectedArm {
        arm: place.arm.to_owned(),
        rank: place.rank.map(size).unwrap_or_default(),
        score: place.score,
        candidates: size(place.candidates),
        last_candidate: place.last,
    }
}
