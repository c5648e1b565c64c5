//! What a run says of what its receipts gave it or kept from it.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hindsight_types::{EvidenceOrigin, Exposure, Memory, MemoryId, MemoryKind, Receipt, Scope};

use super::{Account, Line, credited};
use crate::{bench::Bench, broken::Broken};

/// Reads of the store at a time.
const AT_A_TIME: usize = 8;

/// How a run met a memory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arm {
    kind: MemoryKind,
    exposure: Exposure,
    /// That of the receipt.
    scope: Scope,
}

impl Bench {
    /// One line for each memory that a receipt of the run gave, or that chance kept back. Receipts that the run
    /// may not see are nobody's.
    pub(super) async fn given(&self, account: &Account) -> Result<Vec<Line>, Broken> {
        let reads: Vec<_> =
            account.receipts.iter().map(|id| self.store.receipt(&account.viewer, *id)).collect();
        let receipts: Vec<Option<Receipt>> = stream::iter(reads).buffered(AT_A_TIME).try_collect().await?;
        let arms = arms(receipts.into_iter().flatten().collect());
        let reads: Vec<_> = arms
            .into_iter()
            .map(async |(id, arm)| {
                let memory = self.store.get(&account.viewer, arm.kind, id).await?;
                Ok::<_, Broken>(memory.map(|memory| (memory, arm)))
            })
            .collect();
        let found: Vec<_> = stream::iter(reads).buffered(AT_A_TIME).try_collect().await?;
        Ok(found.into_iter().flatten().filter_map(|(memory, arm)| line(account, &memory, &arm)).collect())
    }
}

fn line(account: &Account, memory: &Memory, arm: &Arm) -> Option<Line> {
    let reading = match memory {
        // A run says nothing of what it alone taught.
        Memory::Lesson(m) if m.sources.iter().all(|s| *s == account.trace_id) && !m.sources.is_empty() => {
            return None;
        }
        Memory::Experience(m) if m.trajectory.trace_id == account.trace_id => return None,
        Memory::Lesson(m) => account.run.lesson(m),
        Memory::Experience(m) => account.run.experience(m),
        Memory::FailurePattern(m) => account.run.pattern(m),
        Memory::Fact(_) | Memory::Step(_) => return None,
    };
    let verdict = credited(reading.stance, account.outcome);
    tracing::debug!(trace = %account.trace_id, memory = %memory.id(), ?verdict, stance = ?reading.stance, "credited");
    Some(account.line(memory, &arm.scope, (arm.exposure, EvidenceOrigin::Credited), verdict))
}

/// How the run met each memory. The first recall that would have given a lesson decides: a run that asks more often
/// has more draws, and would be among those that were given it for its many questions.
pub(super) fn arms(mut receipts: Vec<Receipt>) -> BTreeMap<MemoryId, Arm> {
    receipts.sort_by_key(|r| (r.at, r.id));
    let mut arms = BTreeMap::new();
    for receipt in receipts {
        let given = receipt.injected.iter().map(|item| (item.memory_id, item.kind, Exposure::Injected));
        let kept = receipt.withheld.iter().filter(|w| w.reason.is_chance());
        let kept = kept.map(|w| (w.memory_id, w.kind, Exposure::Withheld));
        for (id, kind, exposure) in given.chain(kept) {
            if matches!(kind, MemoryKind::Lesson | MemoryKind::Experience | MemoryKind::FailurePattern) {
                arms.entry(id).or_insert_with(|| Arm { kind, exposure, scope: receipt.scope.clone() });
            }
        }
    }
    arms
}

#[cfg(test)]
mod tests;
