//! What a person made of a lesson, put onto the lesson that was learned anew without one of its runs.

use hindsight_ingest::{encode, entities};
use hindsight_ports::Revised;
use hindsight_types::{Correction, Lesson, Memory, MemoryId, Review, ReviewDecision, ReviewId, Scope};

use super::Tools;
use crate::broken::Broken;

/// By whom it is said that a lesson is not to serve as its runs taught it.
const BY: &str = "policy forgetting";
const LOST: &str = "a person had corrected it, and their words could not be kept when one of its runs was forgotten: \
    read what the other runs teach, and approve it if that is right";
/// Looks at a lesson that others change meanwhile.
const TRIES: usize = 8;

/// Puts a correction back, with who made it and why. One that is lost makes the lesson wait for a person: what was
/// approved is not what it says now. `cause` tells one forgetting from another.
pub(super) async fn again(
    tools: &Tools,
    scope: &Scope,
    lesson: MemoryId,
    correction: &Correction,
    cause: &str,
) -> Result<(), Broken> {
    for _ in 0..TRIES {
        let Some(learned) = tools.compaction.ledger.lesson(&scope.tenant, lesson).await? else { break };
        if is_newer(&learned, correction) {
            return Ok(());
        }
        let Some(next) = correction.apply(&learned) else { break };
        let next = Memory::Lesson(named(next));
        let encoded = encode::memories(tools.embedder.as_ref(), vec![next.clone()]).await?;
        let encoding = encoded.first().map(|encoded| &encoded.encoding);
        match tools.compaction.history.revise(&Memory::Lesson(learned), &next, encoding).await? {
            Revised::Done => return Ok(()),
            Revised::Changed => {}
            Revised::Gone => break,
        }
    }
    let tenant = &scope.tenant;
    tracing::warn!(%tenant, %lesson, "the correction of a lesson was lost with one of its runs");
    let review = Review {
        id: ReviewId::of_request(tenant, &format!("correction lost\u{1f}{lesson}\u{1f}{cause}")),
        memory_id: lesson,
        scope: scope.clone(),
        decision: ReviewDecision::Rejected,
        by: BY.to_owned(),
        reason: LOST.to_owned(),
        at: tools.clock.now(),
    };
    Ok(tools.compaction.ledger.review(&review).await?)
}

/// It is there already, or a person changed the lesson since.
fn is_newer(lesson: &Lesson, correction: &Correction) -> bool {
    let made = correction.revision.as_ref().map(|revision| revision.at);
    lesson.revision.as_ref().is_some_and(|revision| made.is_none_or(|at| revision.at >= at))
}

/// With the names by which it is found, of what it says now.
fn named(mut lesson: Lesson) -> Lesson {
    let Lesson { situation, basis, .. } = &lesson;
    let said = [situation.as_str(), &basis.chosen, &basis.rejected.join("\n")].join("\n");
    lesson.entities = entities::extract(&said);
    lesson
}
