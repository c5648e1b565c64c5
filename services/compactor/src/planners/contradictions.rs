use hindsight_lifecycle::contradictions;
use hindsight_ports::StoreError;
use hindsight_types::{Fact, Memory, MemoryKind};

use super::{Looking, Page, walk};

/// Facts that are compared with each other: those said last.
const FACTS: usize = 20_000;
const LESSONS: usize = 20_000;

/// What contradicts may lie on any page, so all is one page. Lessons that are only disputed are told, and stay.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let (mut lessons, mut facts, now) = (Vec::new(), Vec::new(), looking.now);
    let lesson = |memory| {
        if let Memory::Lesson(lesson) = memory {
            lessons.push(lesson);
        }
    };
    walk::each(looking, MemoryKind::Lesson, LESSONS, lesson).await?;
    let fact = |memory| {
        if let Memory::Fact(fact) = memory {
            // What surrounds a fact says nothing here.
            let (original, context, surroundings) = Default::default();
            facts.push(Fact { original, context, surroundings, ..fact });
        }
    };
    walk::each(looking, MemoryKind::Fact, FACTS, fact).await?;
    let found = move || (contradictions::lessons(&lessons), contradictions::facts(&facts, now));
    let (opposed, replaced) = walk::work_out(found).await?;
    for pair in &opposed.disputed {
        let (tenant, weaker, other) = (looking.tenant, pair.older, pair.newer);
        tracing::warn!(%tenant, %weaker, %other, why = pair.why, "two lessons dispute each other");
    }
    let mut all = replaced;
    for pair in opposed.superseded {
        let (_, reviews) = looking.ledger.ledger(looking.tenant, pair.older).await?;
        if !contradictions::is_approved(&reviews) {
            all.push(pair);
        }
    }
    Ok(Page { planned: contradictions::planned(all), next: String::new() })
}
