//! Where lessons stand, and what people say of them.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hindsight_api::{Caller, page, status};
use hindsight_codec::{
    lesson_to_proto, review_decision_from_proto, review_to_proto, stage_from_proto, stage_to_proto,
};
use hindsight_lifecycle::{Arm, Standing, Uplift, restage, stage::of_lesson};
use hindsight_ports::{Ledger, StoreError};
use hindsight_proto::{common::v1::Stage as PbStage, memory::v1 as pb};
use hindsight_types::{
    Gate, Invalid, Lesson, Memory, MemoryId, MemoryKind, Review, ReviewDecision, ReviewId, Stage, TenantId,
    Viewer,
};
use tonic::Status;
use uuid::Uuid;

use super::{Memories, history::reason, invalid, memory::not_here, request_id, store};
use crate::{NAME, ask::viewer};

/// Lessons of a page that are weighed at the same time.
const AT_ONCE: usize = 8;

/// What a person wants to say.
struct Order {
    viewer: Viewer,
    lesson: MemoryId,
    decision: ReviewDecision,
    by: String,
    reason: String,
    id: ReviewId,
}

impl Order {
    fn new(caller: Caller, request: pb::ReviewLessonRequest) -> Result<Self, Invalid> {
        let pb::ReviewLessonRequest { memory_id, user, decision, reason: why, request_id: request } = request;
        request_id(&request)?;
        let lesson = MemoryId::parse(&memory_id)?;
        // Of this lesson: a request that is used for another one as well must not swallow what is said of it.
        let id = match request.as_str() {
            "" => ReviewId(Uuid::new_v4()),
            request => ReviewId::of_request(&caller.tenant, &format!("{lesson} {request}")),
        };
        Ok(Self {
            lesson,
            decision: review_decision_from_proto(decision)?,
            reason: reason(&why, true)?,
            by: caller.key.to_string(),
            viewer: viewer(caller.tenant, user)?,
            id,
        })
    }

    fn is_made_by(&self, review: &Review) -> bool {
        (review.decision, &review.reason) == (self.decision, &self.reason)
    }
}

impl Memories {
    fn ledger(&self) -> Result<&dyn Ledger, Status> {
        self.care.ledger.as_deref().ok_or_else(|| not_here("the ledger of lessons"))
    }

    pub(super) async fn lessons(
        &self,
        caller: Caller,
        request: pb::ListLessonsRequest,
    ) -> Result<pb::ListLessonsResponse, Status> {
        let pb::ListLessonsRequest { stage, user, page_size, page_token } = request;
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let stage = wanted(stage).map_err(invalid)?;
        let page = page(page_size, page_token).map_err(invalid)?;
        let ledger = self.ledger()?;
        // Without a gate lessons serve whatever the stage on record is, and are listed as what they serve as.
        let ungated = self.care.policies.of(&viewer.tenant).gate == Gate::Off;
        let found = ledger.lessons(&viewer, stage.filter(|_| !ungated), &page).await.map_err(store)?;
        let weighed = found.items.into_iter().map(|lesson| self.weigh(ledger, &viewer.tenant, lesson));
        let mut lessons: Vec<pb::LessonStanding> =
            stream::iter(weighed).buffered(AT_ONCE).try_collect().await.map_err(store)?;
        if let (true, Some(stage)) = (ungated, stage.map(stage_to_proto)) {
            lessons.retain(|lesson| lesson.standing.as_ref().is_some_and(|s| s.stage == stage));
        }
        Ok(pb::ListLessonsResponse { lessons, next_page_token: found.next_token })
    }

    async fn weigh(
        &self,
        ledger: &dyn Ledger,
        tenant: &TenantId,
        lesson: Lesson,
    ) -> Result<pb::LessonStanding, StoreError> {
        let (lines, reviews) = ledger.ledger(tenant, lesson.id).await?;
        let standing = of_lesson(&lesson, &lines, &reviews, &self.care.policies.of(tenant));
        Ok(standing_of(&lesson, &standing))
    }

    /// Keeps what is said and brings the lesson to the stage that follows.
    pub(super) async fn review(
        &self,
        caller: Caller,
        request: pb::ReviewLessonRequest,
    ) -> Result<pb::ReviewLessonResponse, Status> {
        let ledger = self.ledger()?;
        let order = Order::new(caller, request).map_err(invalid)?;
        let lesson = self.lesson(&order).await?;
        let review = self.said(ledger, &order, &lesson).await?;
        let tenant = &order.viewer.tenant;
        let policy = self.care.policies.of(tenant);
        let restaged = restage(ledger, tenant, lesson.id, &policy).await.map_err(store)?;
        let restaged = restaged.ok_or_else(|| not_found(order.lesson))?;
        let lesson = Lesson { stage: restaged.standing.stage, ..lesson };
        Ok(pb::ReviewLessonResponse {
            review: Some(review_to_proto(&review)),
            lesson: Some(standing_of(&lesson, &restaged.standing)),
        })
    }

    async fn lesson(&self, order: &Order) -> Result<Lesson, Status> {
        let found = self.store.get(&order.viewer, MemoryKind::Lesson, order.lesson).await.map_err(store)?;
        match found {
            Some(Memory::Lesson(lesson)) => Ok(lesson),
            _ => Err(not_found(order.lesson)),
        }
    }

    /// The review that the request made before, or makes now.
    async fn said(&self, ledger: &dyn Ledger, order: &Order, lesson: &Lesson) -> Result<Review, Status> {
        let (_, reviews) = ledger.ledger(&order.viewer.tenant, lesson.id).await.map_err(store)?;
        if let Some(made) = reviews.into_iter().find(|review| review.id == order.id) {
            let reused = || invalid(Invalid::new("request_id", "was used for another review"));
            return if order.is_made_by(&made) { Ok(made) } else { Err(reused()) };
        }
        let review = Review {
            id: order.id,
            memory_id: lesson.id,
            scope: lesson.scope.clone(),
            decision: order.decision,
            by: order.by.clone(),
            reason: order.reason.clone(),
            at: self.clock.now(),
        };
        ledger.review(&review).await.map_err(store)?;
        let decision = match review.decision {
            ReviewDecision::Approved => "approved",
            ReviewDecision::Rejected => "rejected",
        };
        tracing::info!(lesson = %lesson.id, by = order.by, decision, "a lesson was reviewed");
        Ok(review)
    }
}

fn not_found(lesson: MemoryId) -> Status {
    status::not_found(NAME, "lesson", lesson)
}

/// `None`: all.
fn wanted(stage: i32) -> Result<Option<Stage>, Invalid> {
    if stage == PbStage::Unspecified as i32 { Ok(None) } else { stage_from_proto(stage).map(Some) }
}

fn standing_of(lesson: &Lesson, standing: &Standing) -> pb::LessonStanding {
    pb::LessonStanding {
        lesson: Some(lesson_to_proto(lesson)),
        standing: Some(pb::Standing {
            stage: stage_to_proto(standing.stage),
            supported: standing.supported,
            refuted: standing.refuted,
            injected: Some(arm(&standing.injected)),
            withheld: Some(arm(&standing.withheld)),
            success: standing.success.as_ref().map(uplift),
            steps: standing.steps.as_ref().map(uplift),
            tokens: standing.tokens.as_ref().map(uplift),
            helps: standing.helps,
            harms: standing.harms,
            why: standing.why.clone(),
            next: standing.next.clone(),
        }),
    }
}

fn arm(arm: &Arm) -> pb::Arm {
    pb::Arm { runs: arm.runs, successes: arm.successes, steps: arm.steps, tokens: arm.tokens }
}

fn uplift(uplift: &Uplift) -> pb::Uplift {
    let Uplift { value, low, high, probability } = *uplift;
    pb::Uplift { value, low, high, probability }
}
