//! The first half of the chain from its other end: a memory, where it comes from, and whether it may be served.

use hindsight_lifecycle::stage;
use hindsight_types::{
    Archived, Fact, FactStatus, FailurePattern, Gate, Lesson, Memory, Stage as LessonStage, StepMemory,
    TraceId,
};

use super::{Chain, Doctor, Followed, Found, Look, Stage, count, date};

impl Doctor {
    pub(super) async fn of_memory(&self, chain: &mut Chain, found: Found) -> Look {
        let memory = found.memory();
        let origin = match memory {
            Memory::Fact(fact) => {
                chain.whole(Stage::Collected, "RETAINED", retained(fact));
                Ok(())
            }
            Memory::Experience(experience) => self.to_verdict(chain, &experience.trajectory.trace_id).await?,
            Memory::Step(StepMemory { trace_id, .. }) => self.to_verdict(chain, trace_id).await?,
            Memory::Lesson(Lesson { sources, .. })
            | Memory::FailurePattern(FailurePattern { sources, .. }) => {
                chain.whole(Stage::Collected, "LEARNED", learned(sources));
                Ok(())
            }
        };
        if let Err(ended) = origin {
            return Ok(Err(ended));
        }
        if let Found::Archived(archived) = &found {
            return Ok(self::archived(chain, archived));
        }
        let stored = match memory {
            Memory::Fact(fact) => self.fact(chain, fact),
            Memory::Lesson(lesson) => self.lesson(chain, lesson).await?,
            other => {
                let kind = other.kind().as_str().replace('_', " ");
                chain.whole(Stage::Stored, "STORED", format!("kept as {kind} {}", other.id()));
                Ok(())
            }
        };
        match stored {
            Ok(()) => self.served(chain, &[memory.id()]).await,
            Err(ended) => Ok(Err(ended)),
        }
    }

    fn fact(&self, chain: &mut Chain, fact: &Fact) -> Followed {
        let again = "retain it again if it holds, or bring back a former version with `hindsight memories restore-version`";
        if fact.status == FactStatus::Obsolete {
            let by = fact.superseded_by.map(|id| format!(": fact {id} took its place")).unwrap_or_default();
            let when = fact.revision.as_ref().map(|r| format!(" since {}", date(r.at))).unwrap_or_default();
            return chain.broken(Stage::Stored, "OBSOLETE", format!("it is obsolete{when}{by}"), again);
        }
        if let Some(end) = fact.expires_at.filter(|end| *end <= self.now) {
            let finding = format!("its time was over at {}", date(end));
            return chain.broken(
                Stage::Stored,
                "EXPIRED",
                finding,
                "retain it with a later expires_at, or with none",
            );
        }
        let settled = fact.resolved_at.map(|at| format!("; settled at {}", date(at))).unwrap_or_default();
        chain.whole(Stage::Stored, "STORED", format!("kept as fact {}{settled}", fact.id));
        Ok(())
    }

    async fn lesson(&self, chain: &mut Chain, lesson: &Lesson) -> Look {
        let tenant = &self.viewer.tenant;
        let (lines, reviews) = self.ledger.ledger(tenant, lesson.id).await?;
        let policy = self.policies.of(tenant);
        let standing = stage::of_lesson(lesson, &lines, &reviews, &policy);
        let id = lesson.id;
        Ok(match lesson.stage {
            LessonStage::Retired => chain.broken(
                Stage::Stored,
                "RETIRED",
                format!("retired: {}", standing.why),
                format!("approve it if that is wrong: `hindsight lessons approve {id} --reason …`"),
            ),
            LessonStage::Candidate if policy.gate != Gate::Off => chain.broken(
                Stage::Stored,
                "CANDIDATE",
                format!("candidate, {}: waits for {}", unproven(policy.gate), standing.next),
                format!("approve it if you know it to be right: `hindsight lessons approve {id} --reason …`"),
            ),
            stage => {
                let word = match stage {
                    LessonStage::Candidate => "candidate, served since [lifecycle] asks for no evidence",
                    LessonStage::Canary => "canary, served to half of the recalls that would have it",
                    LessonStage::Active | LessonStage::Retired => "active",
                };
                chain.whole(Stage::Stored, "STORED", format!("kept as lesson {id}; {word}"));
                Ok(())
            }
        })
    }
}

/// How advice that nothing confirms is served.
fn unproven(gate: Gate) -> &'static str {
    match gate {
        Gate::People => "not served before somebody approves it",
        Gate::Evidence | Gate::Off => {
            "not served but beside a run that it was learned from, to half of the recalls"
        }
    }
}

pub(super) fn archived(chain: &mut Chain, archived: &Archived) -> Followed {
    let Archived { at, why, instead, memory, .. } = archived;
    let by = instead.map(|id| format!("; {id} speaks for it")).unwrap_or_default();
    chain.broken(
        Stage::Stored,
        "ARCHIVED",
        format!("it left for the archive at {}: {why}{by}", date(*at)),
        format!("`hindsight archive restore {}` brings it back", memory.id()),
    )
}

fn retained(fact: &Fact) -> String {
    let said = date(fact.occurred_at);
    let session = fact.session.as_ref().map(|s| format!(" in session {s}")).unwrap_or_default();
    format!("said at {said}{session}, arrived at {}", date(fact.retained_at))
}

fn learned(sources: &[TraceId]) -> String {
    let named: Vec<&str> = sources.iter().rev().take(3).map(TraceId::as_str).collect();
    let more = if sources.len() > named.len() { ", …" } else { "" };
    format!("learned from {}: {}{more}", count(sources.len(), "run"), named.join(", "))
}
