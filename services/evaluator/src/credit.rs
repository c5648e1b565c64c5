//! Writes into the ledger what a judged run says of the memories it was given, of the lessons that chance kept from
//! it, and of those that it followed or went against on its own.
//!
//! Ids are those of memory and run, so a run that is judged again, or whose message came twice, rewrites its lines.

mod account;
mod given;
mod own;

use std::collections::BTreeSet;

use hindsight_judge::credit::Stance;
use hindsight_ports::Queue;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{CompactionTask, Evidence, MemoryId, MemoryKind, OutcomeStatus, Verdict, Work};

pub(crate) use account::Account;

use crate::{bench::Bench, broken::Broken, message};

/// What a run says of one memory.
#[derive(Debug)]
struct Line {
    kind: MemoryKind,
    evidence: Evidence,
}

impl Bench {
    /// Durable when it returns. To be called before the lessons of the run are stored: what was known before tells
    /// which of them were learned again.
    pub(crate) async fn credit(&self, account: &Account) -> Result<(), Broken> {
        let mut lines = self.given(account).await?;
        lines.extend(self.learned_again(account, &named(&lines)).await?);
        lines.extend(self.on_its_own(account, &named(&lines)).await?);
        if lines.is_empty() {
            return Ok(());
        }
        let evidence: Vec<Evidence> = lines.iter().map(|line| line.evidence.clone()).collect();
        self.store.append_evidence(&evidence).await?;
        for line in &lines {
            let result = word(line.evidence.verdict);
            Metric::Evidence.add(1, &[(Label::Kind, line.kind.as_str()), (Label::Result, result)]);
        }
        let of_lessons = lines.iter().filter(|line| line.kind == MemoryKind::Lesson);
        self.restage(account, of_lessons.map(|line| line.evidence.memory_id).collect()).await;
        Ok(())
    }

    /// Asks for the stages that follow. A request that is lost only delays them: all lessons are looked at on a
    /// schedule.
    async fn restage(&self, account: &Account, lessons: BTreeSet<MemoryId>) {
        let lessons: Vec<MemoryId> = lessons.into_iter().collect();
        let why = format!("run {} says something of them", account.trace_id);
        let cause = format!("{} {}", account.trace_id, account.at);
        let tasks = lessons.chunks(Work::LARGEST).map(|lessons| {
            let work = Work::Restage { lessons: lessons.to_vec() };
            CompactionTask::triggered(account.scope.tenant.clone(), work, why.clone(), &cause, account.at)
        });
        let messages: Vec<_> = tasks.map(|task| message::upkeep(&task)).collect();
        if messages.is_empty() {
            return;
        }
        if let Err(error) = self.bus.publish(Queue::Compact, messages).await {
            tracing::warn!(trace = %account.trace_id, %error, "lessons will be staged on schedule only");
        }
    }
}

fn named(lines: &[Line]) -> BTreeSet<MemoryId> {
    lines.iter().map(|line| line.evidence.memory_id).collect()
}

/// What a run that was given advice, or kept from it, says of it.
fn credited(stance: Stance, outcome: OutcomeStatus) -> Verdict {
    match (stance, outcome) {
        (Stance::Followed, OutcomeStatus::Success) => Verdict::Supported,
        (Stance::Followed, OutcomeStatus::Failure) | (Stance::InVain, _) => Verdict::Refuted,
        _ => Verdict::Ignored,
    }
}

/// What a run that knew nothing of the advice says of it; `None`: nothing.
fn observed(stance: Stance, outcome: OutcomeStatus) -> Option<Verdict> {
    match (stance, outcome) {
        (Stance::Followed, OutcomeStatus::Success) => Some(Verdict::Supported),
        (Stance::Followed, OutcomeStatus::Failure)
        | (Stance::Contradicted, OutcomeStatus::Success)
        | (Stance::InVain, _) => Some(Verdict::Refuted),
        _ => None,
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Refuted => "refuted",
        Verdict::Ignored => "ignored",
    }
}
