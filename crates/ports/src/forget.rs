use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_types::{Forgetting, ForgettingId, ForgettingPreview, Forgotten, Subject, TenantId, Timestamp};

use crate::{Probes, StoreError};

/// Most subjects that are asked about at once.
pub const MOST_SUBJECTS: usize = 1_000;

/// Forgetting: everything of a subject is deleted with what was derived from it. It is done in steps that are put on
/// record before they are taken, so that whoever goes on with it, after a crash at any point or beside another one,
/// ends with the same record:
///
/// ```text
/// begin ─▶ erase(what is on record) ─▶ whoever has to do something afterwards does it ─▶ advance ─▶ erase ─▶ …
/// ```
#[async_trait]
pub trait Forget: Send + Sync + 'static {
    /// Which of these subjects were forgotten. At most [`MOST_SUBJECTS`].
    async fn forgotten(&self, tenant: &TenantId, subjects: &[Subject]) -> Result<Vec<Forgotten>, StoreError>;

    /// Has what was recorded of its subject until then be dropped. Of several times for one subject the latest
    /// counts.
    async fn entomb(&self, forgotten: &Forgotten) -> Result<(), StoreError>;

    /// Entombs the subject and puts the forgetting on record. One of that id that is there already stays and is
    /// returned.
    async fn begin(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError>;

    async fn forgetting(&self, tenant: &TenantId, id: ForgettingId)
    -> Result<Option<Forgetting>, StoreError>;

    /// Deletes what is on record to be deleted next. May be done again.
    async fn erase(&self, forgetting: &Forgetting) -> Result<(), StoreError>;

    /// Counts what was erased, finds what is next and puts that on record; when there is nothing more the state is
    /// `Vacuuming`. Returns what is on record now: another one's step, if that one was quicker.
    async fn advance(&self, forgetting: &Forgetting, now: Timestamp) -> Result<Forgetting, StoreError>;

    /// Puts a next state on record, unless somebody else did since this one was read. Returns what is on record.
    async fn put(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError>;

    /// What forgetting this subject would do, counting what was recorded until `at`.
    async fn preview(
        &self,
        tenant: &TenantId,
        subject: &Subject,
        at: Timestamp,
    ) -> Result<ForgettingPreview, StoreError>;

    /// How many records of the subject there are, by collection; one that was searched and has none is named, too.
    async fn remaining(&self, forgetting: &Forgetting) -> Result<BTreeMap<String, u64>, StoreError>;

    /// Which probes stand in a record that there is, whoever's.
    async fn held(&self, probes: &Probes) -> Result<BTreeSet<u64>, StoreError>;
}
