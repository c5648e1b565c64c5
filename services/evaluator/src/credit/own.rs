//! What a run says of lessons that it was not told: it learned one again, or did what one advises, or the opposite.

use std::collections::BTreeSet;

use futures::future::try_join;
use hindsight_judge::credit::Stance;
use hindsight_ports::{Arm, CandidateId, Purpose, Search, SparseVector};
use hindsight_text::bm25;
use hindsight_types::{
    Environment, EvidenceOrigin, Exposure, Lesson, Memory, MemoryId, MemoryKind, OutcomeStatus, Verdict,
};

use super::{Account, Line, observed};
use crate::{bench::Bench, broken::Broken};

/// Similar lessons that are looked at, by words and by meaning each.
const SIMILAR: usize = 8;
/// How a run met what it was not told.
const UNTOLD: (Exposure, EvidenceOrigin) = (Exposure::Observed, EvidenceOrigin::Observed);

impl Bench {
    /// Lessons that were known, and that this run teaches too.
    pub(super) async fn learned_again(
        &self,
        account: &Account,
        told: &BTreeSet<MemoryId>,
    ) -> Result<Vec<Line>, Broken> {
        let mut lines = Vec::new();
        if !matches!(account.outcome, OutcomeStatus::Success | OutcomeStatus::Partial) {
            return Ok(lines);
        }
        for id in account.learned.iter().filter(|id| !told.contains(id)) {
            let known = self.store.get(&account.viewer, MemoryKind::Lesson, *id).await?;
            let of_others = |m: &Lesson| {
                !m.sources.is_empty()
                    && !m.sources.contains(&account.trace_id)
                    && !matches!(account.run.lesson(m).stance, Stance::Contradicted | Stance::InVain)
            };
            if let Some(memory @ Memory::Lesson(lesson)) = &known
                && of_others(lesson)
            {
                lines.push(account.line(memory, &account.scope, UNTOLD, Verdict::Supported));
            }
        }
        Ok(lines)
    }

    /// Lessons about what this run met, that it followed or went against without knowing them.
    pub(super) async fn on_its_own(
        &self,
        account: &Account,
        told: &BTreeSet<MemoryId>,
    ) -> Result<Vec<Line>, Broken> {
        let mut lines = Vec::new();
        for memory in self.similar(account).await? {
            let Memory::Lesson(lesson) = &memory else { continue };
            if told.contains(&lesson.id) || !concerns(lesson, account) {
                continue;
            }
            let reading = account.run.lesson(lesson);
            let verdict = match observed(reading.stance, account.outcome) {
                None if account.again && self.said_before(account, &memory).await? => Verdict::Ignored,
                None => continue,
                Some(verdict) => verdict,
            };
            let (trace, stance) = (&account.trace_id, reading.stance);
            tracing::debug!(%trace, memory = %lesson.id, ?verdict, ?stance, "observed");
            lines.push(account.line(&memory, &account.scope, UNTOLD, verdict));
        }
        Ok(lines)
    }

    async fn similar(&self, account: &Account) -> Result<Vec<Memory>, Broken> {
        let texts = [account.sought.clone()];
        let dense = self.embedder.embed(&texts, Purpose::Query).await?.pop().unwrap_or_default();
        let (indices, values) = bm25::encode_query(&account.sought);
        let search =
            |arm| Search { kind: MemoryKind::Lesson, arm, limit: SIMILAR, action_name: None, ids: None };
        let (by_meaning, by_words) =
            (search(Arm::Dense(dense)), search(Arm::Bm25(SparseVector { indices, values })));
        let viewer = &account.viewer;
        let (mut found, more) =
            try_join(self.store.search(viewer, &by_meaning), self.store.search(viewer, &by_words)).await?;
        found.extend(more);
        let ids: BTreeSet<CandidateId> = found.into_iter().map(|candidate| candidate.id).collect();
        let ids: Vec<CandidateId> = ids.into_iter().collect();
        let fetched = self.store.fetch(viewer, MemoryKind::Lesson, &ids).await?;
        Ok(fetched.into_iter().map(|f| f.memory).collect())
    }

    /// Whether the ledger holds a line of this run.
    async fn said_before(&self, account: &Account, memory: &Memory) -> Result<bool, Broken> {
        let lines = self.store.evidence(&account.viewer, memory.id()).await?;
        Ok(lines.iter().any(|line| line.trace_id == account.trace_id))
    }
}

/// Whether the run can say something of the lesson: it is not its own, and is about what the run met, where it ran.
fn concerns(lesson: &Lesson, account: &Account) -> bool {
    let other_kind = matches!((&lesson.task_type, &account.task_type), (Some(a), Some(b)) if a != b);
    !lesson.sources.contains(&account.trace_id)
        && !other_kind
        && !elsewhere(&lesson.environment, &account.environment)
        && account.run.meets(lesson)
}

/// Both name where they are, and share no tag.
fn elsewhere(a: &Environment, b: &Environment) -> bool {
    let same = |tag: &String| b.tags.iter().any(|other| tag.eq_ignore_ascii_case(other));
    !a.tags.is_empty() && !b.tags.is_empty() && !a.tags.iter().any(same)
}
