use async_trait::async_trait;
use hindsight_types::{
    FactStatus, FactType, Memory, MemoryId, MemoryKind, OutcomeStatus, Receipt, SessionId, Stage, TaskType,
    Timestamp, TraceId, Viewer,
};

use crate::{Page, PageRequest, StoreError};

/// Which memories of a kind; what is left open does not matter. A memory whose kind has no such field is of none of
/// its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Of a lesson.
    pub stage: Option<Stage>,
    /// Of an experience or step.
    pub outcome: Option<OutcomeStatus>,
    /// Of an experience or lesson.
    pub task_type: Option<TaskType>,
    /// One of the tags of an experience, lesson or failure pattern.
    pub environment: Option<String>,
    /// One of the names in a fact, experience or lesson, whatever its case and width.
    pub entity: Option<String>,
    /// Of a fact.
    pub status: Option<FactStatus>,
    /// Of a fact.
    pub fact_type: Option<FactType>,
    /// Of a fact.
    pub session: Option<SessionId>,
    /// The tool of a failure pattern or step.
    pub action_name: Option<String>,
    /// Of an experience.
    pub worth_reference: Option<bool>,
    /// The run of an experience or step, or one of those that a lesson or failure pattern was learned from.
    pub trace: Option<TraceId>,
    /// By the time that it is listed by: no older than this.
    pub from: Option<Timestamp>,
    /// Older than this.
    pub until: Option<Timestamp>,
}

/// Lists for people who look after memories.
#[async_trait]
pub trait Browse: Send + Sync + 'static {
    /// Memories that match, newest first. Pages are as those of [`list`](crate::MemoryStore::list); a token is of
    /// its selection alone. A field that the kind does not have is `Rejected`.
    async fn select(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        selection: &Selection,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// Receipts of recalls that gave this memory, or of all, newest first; a page may be short.
    async fn receipts(
        &self,
        viewer: &Viewer,
        given: Option<MemoryId>,
        page: &PageRequest,
    ) -> Result<Page<Receipt>, StoreError>;
}
