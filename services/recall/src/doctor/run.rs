//! The first half of the chain: a run from its events to what was learned from it.

use hindsight_ingest::{Assembly, assemble};
use hindsight_ports::{PageRequest, Selection, StoreError};
use hindsight_types::{EvaluationState, Event, EventBody, Experience, Memory, MemoryId, MemoryKind, TraceId};

use crate::raw;

use super::{Chain, Doctor, Followed, Look, Stage, count, date};

/// Memories of one kind that are named as drawn from a run.
const DRAWN: usize = 100;

impl Doctor {
    pub(super) async fn of_run(&self, chain: &mut Chain, trace: &TraceId) -> Look {
        if let Err(ended) = self.to_verdict(chain, trace).await? {
            return Ok(Err(ended));
        }
        let Some(experience) = self.store.experience(&self.viewer, trace).await? else {
            return self.not_stored(chain, trace).await;
        };
        let drawn = self.drawn(trace).await?;
        let (lessons, patterns): (Vec<_>, Vec<_>) =
            drawn.iter().partition(|memory| memory.kind() == MemoryKind::Lesson);
        let (reason, finding) = kept(&experience, lessons.len(), patterns.len());
        chain.whole(Stage::Stored, reason, finding);
        let mut memories = vec![experience.id];
        memories.extend(drawn.iter().map(Memory::id));
        self.served(chain, &memories).await
    }

    /// Collected and judged.
    pub(super) async fn to_verdict(&self, chain: &mut Chain, trace: &TraceId) -> Look {
        let experience = self.store.experience(&self.viewer, trace).await?;
        let events = self.events(trace).await?;
        if let Err(ended) = collected(chain, events, experience.as_ref()) {
            return Ok(Err(ended));
        }
        let record = self.store.evaluation_record(&self.viewer, trace).await?;
        let state = record.map(|record| (record.state, record.judge, record.updated_at));
        Ok(match (state, experience) {
            (Some((EvaluationState::Judged, judge, at)), experience) => {
                let how = experience.map(|e| format!(": {}", outcome(&e))).unwrap_or_default();
                chain.whole(Stage::Judged, "JUDGED", format!("judged by {judge} at {}{how}", date(at)));
                Ok(())
            }
            (_, Some(experience)) => {
                let (judge, at) = (&experience.evaluation.judge, date(experience.evaluation.evaluated_at));
                let finding = format!("judged by {judge} at {at}: {}", outcome(&experience));
                chain.whole(Stage::Judged, "JUDGED", finding);
                Ok(())
            }
            (None, None) => chain.broken(
                Stage::Judged,
                "NOT_JUDGED",
                "it is complete, and its judging has not begun",
                "wait a moment; if it stays so, see that a server with the role evaluator runs, and what \
                 `hindsight dlq list` shows",
            ),
            (Some((EvaluationState::Waiting { reason }, ..)), None) => chain.broken(
                Stage::Judged,
                "WAITING",
                format!("its judging waits: {reason}"),
                format!("it is looked at again by itself; `hindsight failures --replay {trace}` does so now"),
            ),
            (Some((EvaluationState::Skipped { reason }, ..)), None) => chain.broken(
                Stage::Judged,
                "SKIPPED",
                format!("skipped by the gate because {reason}"),
                format!("lower what [gate] asks for, then `hindsight failures --replay {trace}`"),
            ),
            (Some((EvaluationState::Failed { reason }, ..)), None) => chain.broken(
                Stage::Judged,
                "FAILED",
                format!("failed: {reason}"),
                format!("remove the cause, then `hindsight failures --replay {trace}`"),
            ),
        })
    }

    async fn not_stored(&self, chain: &mut Chain, trace: &TraceId) -> Look {
        let id = MemoryId::experience(&self.viewer.tenant, trace);
        if let Some(archived) = self.archive.away(&self.viewer, id).await? {
            return Ok(super::memory::archived(chain, &archived));
        }
        Ok(chain.broken(
            Stage::Stored,
            "NOT_STORED",
            "the verdict is on record, and the memory of the run is not there",
            format!("`hindsight reevaluate {trace}` judges it again, as long as its raw events are kept"),
        ))
    }

    /// Lessons and failure patterns drawn from a run.
    pub(super) async fn drawn(&self, trace: &TraceId) -> Result<Vec<Memory>, StoreError> {
        let selection = Selection { trace: Some(trace.clone()), ..Selection::default() };
        let page = PageRequest { size: DRAWN, token: String::new() };
        let kinds = [MemoryKind::Lesson, MemoryKind::FailurePattern];
        let lists = kinds.map(|kind| self.browse.select(&self.viewer, kind, &selection, &page));
        Ok(futures::future::try_join_all(lists).await?.into_iter().flat_map(|page| page.items).collect())
    }

    /// Every event of the run that the viewer may see.
    pub(crate) async fn events(&self, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        raw::events(&*self.store, &self.viewer, trace).await
    }
}

fn collected(chain: &mut Chain, events: Vec<Event>, experience: Option<&Experience>) -> Followed {
    let steps = events.iter().filter(|e| matches!(e.body, EventBody::Step(_))).count();
    let ended = events.iter().any(|e| matches!(e.body, EventBody::Completed(_)));
    if events.is_empty() {
        let what = experience.map(|e| format!("{} arrived; ", count(e.trajectory.steps.len(), "step")));
        let finding = format!("{}its raw events are no longer kept", what.unwrap_or_default());
        chain.whole(Stage::Collected, "EVENTS_EXPIRED", finding);
        return Ok(());
    }
    match assemble(events) {
        Assembly::Complete(run) => {
            let finding =
                format!("{} arrived; it ended at {}", count(run.steps.len(), "step"), date(run.ended_at));
            chain.whole(Stage::Collected, "COLLECTED", finding);
            Ok(())
        }
        // What was judged is not undone by events that expire or come later.
        Assembly::Missing(_) if experience.is_some() => {
            chain.whole(Stage::Collected, "COLLECTED", format!("{} are still kept", count(steps, "step")));
            Ok(())
        }
        Assembly::Missing(gap) if !ended => chain.broken(
            Stage::Collected,
            "NOT_COMPLETED",
            format!("collected, not completed: {gap}"),
            "call CompleteTask when it ends; a task of which nothing more is heard is ended by itself after \
             `compactor.idle_after`, 30 minutes by default",
        ),
        Assembly::Missing(gap) => chain.broken(
            Stage::Collected,
            "STEPS_MISSING",
            format!("it was completed, and parts of it have not arrived: {gap}"),
            "have the client send them again; look for what could not be handled with `hindsight dlq list`",
        ),
    }
}

fn outcome(experience: &Experience) -> String {
    let evaluation = &experience.evaluation;
    let word = match evaluation.outcome {
        hindsight_types::OutcomeStatus::Success => "success",
        hindsight_types::OutcomeStatus::Partial => "partial",
        hindsight_types::OutcomeStatus::Failure => "failure",
        hindsight_types::OutcomeStatus::Unknown => "outcome unknown",
    };
    format!("{word} ({:.0} % sure)", evaluation.outcome_confidence * 100.0)
}

/// What was kept of a run; without a lesson, why.
fn kept(experience: &Experience, lessons: usize, patterns: usize) -> (&'static str, String) {
    let mut finding = format!("kept as experience {}", experience.id);
    if patterns > 0 {
        finding.push_str(&format!(", with {}", count(patterns, "failure pattern")));
    }
    if lessons > 0 {
        finding.push_str(&format!(", with {}", count(lessons, "lesson")));
        return ("STORED", finding);
    }
    let why = match experience.evaluation.rejected_lessons.first() {
        Some(rejected) => format!("the advice in it was not kept: {}", rejected.reason),
        None => "its steps show no choice from which advice follows".to_owned(),
    };
    finding.push_str(&format!("; no lesson was drawn: {why}"));
    ("STORED_WITHOUT_LESSON", finding)
}
