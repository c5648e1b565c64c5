use hindsight_judge::effect;
use hindsight_lifecycle::rules::{self, Outline, Reading};
use hindsight_ports::StoreError;
use hindsight_types::{Memory, MemoryKind};

use super::{Looking, Page, walk};

/// How calls are read.
const READING: Reading = Reading { purpose: effect::purpose, changes: effect::changes };
/// Runs that are compared with each other: those that ended last.
const RUNS: usize = 20_000;
const LESSONS: usize = 20_000;

/// Groups lie across pages, so all is one page.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let (settings, now) = (looking.settings.rules.clone(), looking.now);
    let mut runs: Vec<Outline> = Vec::new();
    let outline = |memory| {
        if let Memory::Experience(run) = memory {
            runs.push(Outline::of(&run, &READING));
        }
    };
    walk::each(looking, MemoryKind::Experience, RUNS, outline).await?;
    let reads = walk::reads(looking, &rules::crowded(&runs, &settings, now)).await?;
    if reads.is_empty() {
        return Ok(Page::default());
    }
    let read = |run: Outline| {
        let reads = reads.get(&run.experience()).copied().unwrap_or(0);
        run.read(reads)
    };
    let runs: Vec<Outline> = runs.into_iter().map(read).collect();
    let mut lessons = Vec::new();
    let rule = |memory| match memory {
        Memory::Lesson(lesson) if lesson.is_rule() => lessons.push(lesson),
        _ => {}
    };
    walk::each(looking, MemoryKind::Lesson, LESSONS, rule).await?;
    let merged = walk::merged(looking.archive, looking.tenant).await?;
    // What speaks for a rule may be a lesson that was learned from one run.
    let speakers: Vec<_> = merged.values().copied().collect();
    for ids in speakers.chunks(hindsight_ports::MOST_IDS) {
        let found = looking.upkeep.memories_of(looking.tenant, MemoryKind::Lesson, ids).await?;
        lessons.extend(found.into_iter().filter_map(|memory| match memory {
            Memory::Lesson(lesson) => Some(lesson),
            _ => None,
        }));
    }
    let groups = walk::work_out(move || rules::plan(&runs, &lessons, &merged, &settings, now)).await?;
    Ok(Page { planned: groups.into_iter().map(Into::into).collect(), next: String::new() })
}
