use hindsight_lifecycle::{duplicates, plan::Planned};
use hindsight_ports::StoreError;
use hindsight_types::{Memory, MemoryKind};

use super::{Looking, Page, walk};

const LESSONS: usize = 20_000;

/// What says the same may lie on any page, so all is one page. What somebody brought back is left alone.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let back = walk::brought_back(looking.archive, looking.tenant).await?;
    let (mut lessons, mut facts, now) = (Vec::new(), duplicates::Facts::default(), looking.now);
    let lesson = |memory| match memory {
        Memory::Lesson(lesson) if !back.contains(&lesson.id) => lessons.push(lesson),
        _ => {}
    };
    walk::each(looking, MemoryKind::Lesson, LESSONS, lesson).await?;
    let fact = |memory| {
        if let Memory::Fact(fact) = memory {
            facts.see(&fact, now);
        }
    };
    walk::each(looking, MemoryKind::Fact, usize::MAX, fact).await?;
    let merges = walk::work_out(move || (duplicates::lessons(&lessons), facts.plan())).await?;
    let planned: Vec<Planned> = merges.0.into_iter().chain(merges.1).map(Into::into).collect();
    Ok(Page { planned, next: String::new() })
}
