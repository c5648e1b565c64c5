//! What people made of lessons. Their words are theirs and not those of the runs: a lesson that is learned anew without
//! one of its runs is given them again.

use hindsight_ports::StoreError;
use hindsight_types::{Correction, Lesson, Memory, UserId};
use qdrant_client::qdrant::{Condition, RetrievedPoint};
use uuid::Uuid;

use super::{BATCH, find::Target, runs::keywords, texts};
use crate::{
    collection::Collection,
    field, point,
    scoped::{ScopedFilter, Show, Walk, next_id},
};

/// A correction, and the former versions that tell it from what was learned: they go with the lesson, not before.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) correction: Correction,
    pub(super) former: Vec<Uuid>,
    /// What these say.
    pub(super) texts: Vec<String>,
}

impl Target<'_> {
    /// `None`: it says what was learned. The words of a user who is forgotten are lost, and so are those of which
    /// nobody knows what was learned before.
    pub(super) async fn kept(&self, memory: &Memory) -> Result<Option<Kept>, StoreError> {
        let Memory::Lesson(lesson) = memory else { return Ok(None) };
        let Some(revision) = &lesson.revision else { return Ok(None) };
        if self.users.iter().map(UserId::as_str).any(|user| user == revision.by) {
            return Ok(Some(Kept::default()));
        }
        let learned = self.learned(lesson).await?;
        let Some((_, first)) = learned.first() else { return Ok(Some(Kept::default())) };
        let Some(correction) = Correction::of(lesson, first) else { return Ok(None) };
        let ids = learned.iter().map(|(point, _)| point::from_point_id(point.id.clone()));
        Ok(Some(Kept {
            correction,
            former: ids.collect::<Result<_, _>>()?,
            texts: learned.iter().flat_map(|(point, _)| texts::of(point)).collect(),
        }))
    }

    /// The lesson as its runs taught it, the latest first.
    async fn learned(&self, lesson: &Lesson) -> Result<Vec<(RetrievedPoint, Lesson)>, StoreError> {
        let (mut learned, mut from) = (Vec::new(), None);
        loop {
            let filter = ScopedFilter::whole(self.tenant).and(keywords(field::MEMORY_ID, [lesson.id]));
            let page = self
                .backend
                .scroll(Collection::Versions, filter, Walk::ById(from), BATCH, Show::Record)
                .await?;
            for point in page.points {
                if let Some(Memory::Lesson(version)) = texts::version(&point)
                    && version.revision.is_none()
                {
                    learned.push((point, version));
                }
            }
            from = next_id(page.next)?;
            if from.is_none() {
                break;
            }
        }
        learned.sort_by_key(|(_, lesson)| std::cmp::Reverse(lesson.last_supported_at));
        Ok(learned)
    }
}

/// All but these points.
pub(super) fn but(filter: ScopedFilter, points: &[Uuid]) -> ScopedFilter {
    if points.is_empty() {
        return filter;
    }
    filter.and_not(Condition::has_id(points.iter().copied().map(point::to_point_id)))
}
