//! Forgetting across the store, the queues and their files. Whoever takes a step goes by the record alone, so a step
//! may be begun again by anybody, at any time:
//!
//! ```text
//! Erasing     records are deleted, batch after batch; what was derived from others as well is learned anew
//! Vacuuming   dead letters of the subject are discarded; files that held its records are written anew
//! Proving     everything is searched: the store by its filters, files for texts; what is found is deleted again
//! Done        the record of the forgetting is the proof
//! ```
//!
//! What is on its way meanwhile is dropped where it arrives: each consumer asks [`Forgetter::forgotten`] before it
//! writes and again afterwards, and has what it wrote in between swept ([`Forgetter::sweep`]).

mod arriving;
mod letters;
mod prove;

use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use hindsight_codec::{compaction_task_to_proto, schema};
use hindsight_ports::{Bus, BusError, Clock, Envelope, Forget, Queue, StoreError, Vacuum};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_types::{
    CompactionTask, Forgetting, ForgettingId, ForgettingState, Forgotten, MemoryId, Scope, Subject, TenantId,
    Timestamp, TraceId, Visibility, Work,
};
use prost::Message as _;

pub use arriving::{Arriving, of_event, of_fact, of_run};

/// Files that a forgetting reaches, or why it does not.
#[derive(Clone)]
pub enum Files {
    Here(Arc<dyn Vacuum>),
    /// In words, for the proof.
    OutOfReach(&'static str),
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(_) => f.write_str("Here"),
            Self::OutOfReach(why) => f.debug_tuple("OutOfReach").field(why).finish(),
        }
    }
}

/// What forgetting needs.
#[derive(Clone)]
pub struct Forgetter {
    pub forget: Arc<dyn Forget>,
    pub bus: Arc<dyn Bus>,
    pub clock: Arc<dyn Clock>,
    pub store_files: Files,
    pub queue_files: Files,
}

impl fmt::Debug for Forgetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forgetter").finish_non_exhaustive()
    }
}

/// Why a step could not be taken for now.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// How proving ended.
#[derive(Debug)]
pub enum Proved {
    /// It is over, proved or given up.
    Over(Forgetting),
    /// Something was found, and is being deleted; worth looking again after a while.
    Again(Forgetting, Duration),
}

impl Forgetter {
    /// Puts a forgetting on record and asks for it to be carried out. The one of that id goes on.
    pub async fn begin(&self, forgetting: &Forgetting) -> Result<Forgetting, Trouble> {
        let begun = self.forget.begin(forgetting).await?;
        if !begun.state.is_over() {
            self.ask(&begun).await?;
        }
        Ok(begun)
    }

    /// Asks for a forgetting to be carried on.
    pub async fn ask(&self, forgetting: &Forgetting) -> Result<(), Trouble> {
        let work = Work::Forget { forgetting: forgetting.id };
        let why = format!("{} is to be forgotten", forgetting.subject.in_words());
        self.publish(forgetting, work, why).await
    }

    /// Deletes as much as can be at once, for a while: what is first is what must not be served any more. What asks
    /// for more than deleting is left to a worker.
    pub async fn erase_for(&self, mut f: Forgetting, while_: Duration) -> Result<Forgetting, Trouble> {
        let begun = Instant::now();
        while f.state == ForgettingState::Erasing && begun.elapsed() < while_ {
            // Two must not be at this: one would delete what the other has had learned anew.
            if !f.batch.rederived.is_empty() {
                break;
            }
            self.forget.erase(&f).await?;
            if f.batch.has_follow_up() {
                break;
            }
            f = self.forget.advance(&f, self.clock.now()).await?;
        }
        Ok(f)
    }

    /// Asks for what was derived from others as well to be learned anew from these. To be called when the batch is
    /// erased and before it is counted.
    pub async fn relearn(&self, f: &Forgetting) -> Result<(), Trouble> {
        let mut alike: BTreeMap<_, (Vec<_>, &Visibility)> = BTreeMap::new();
        let corrected = f.batch.rederived.iter().filter_map(|r| Some((r.memory, r.correction.clone()?)));
        let corrected: BTreeMap<_, _> = corrected.collect();
        for r in &f.batch.rederived {
            let key = (r.kind, r.runs.clone(), r.visibility.keyword());
            alike.entry(key).or_insert((Vec::new(), &r.visibility)).0.push(r.memory);
        }
        for ((kind, runs, _), (memories, visibility)) in alike {
            let visibility = visibility.clone();
            for memories in memories.chunks(Work::LARGEST) {
                let of = |memory: &MemoryId| Some((*memory, corrected.get(memory)?.clone()));
                let corrections = memories.iter().filter_map(of).collect();
                let (memories, runs, visibility) = (memories.to_vec(), runs.clone(), visibility.clone());
                let work = Work::Rederive { kind, memories, runs, visibility, corrections };
                self.publish(f, work, "other runs taught it, too".to_owned()).await?;
            }
        }
        Ok(())
    }

    /// Which of these were forgotten after they were recorded.
    pub async fn forgotten(
        &self,
        tenant: &TenantId,
        arriving: &[Arriving],
    ) -> Result<Vec<Option<Forgotten>>, StoreError> {
        arriving::forgotten(&*self.forget, tenant, arriving).await
    }

    /// Has what arrived of a subject while it was being forgotten deleted as well. `cause` tells one arrival from
    /// another.
    pub async fn sweep(&self, forgotten: &Forgotten, cause: &str) -> Result<(), Trouble> {
        let Forgotten { scope, subject, at } = forgotten;
        let reason = "it arrived while its subject was being forgotten";
        self.by_itself(&scope.tenant, subject.clone(), *at, cause, reason).await
    }

    /// Has what a run taught everybody taken away: it turned out whose it is. `since`: when it was not known yet.
    pub async fn take_back(&self, tenant: &TenantId, run: &TraceId, since: Timestamp) -> Result<(), Trouble> {
        let (subject, reason) = (Subject::Taught(run.clone()), "it turned out whose run it is");
        self.by_itself(tenant, subject, since, "whose it is", reason).await
    }

    /// Begins a forgetting that nobody asked for.
    async fn by_itself(
        &self,
        tenant: &TenantId,
        subject: Subject,
        at: Timestamp,
        cause: &str,
        reason: &str,
    ) -> Result<(), Trouble> {
        let id = ForgettingId::of_late(tenant, &subject, at, cause);
        let scope = Scope::new(tenant.clone(), Visibility::Tenant);
        let (reason, by) = (reason.to_owned(), "hindsight".to_owned());
        self.begin(&Forgetting::begin(id, scope, subject, reason, by, at)).await.map(drop)
    }

    /// Discards dead letters and has files written anew, one part per call; the state is `Proving` when all is done.
    pub async fn vacuum(&self, mut f: Forgetting) -> Result<Forgetting, Trouble> {
        let now = self.clock.now();
        let erased_at = f.erased_at.unwrap_or(now);
        let next = f.removed.keys().find(|part| !f.vacuumed.contains(*part)).cloned();
        match (next, &self.store_files) {
            (Some(part), files) => {
                if let Files::Here(files) = files {
                    files.vacuum(std::slice::from_ref(&part), erased_at, now).await?;
                }
                f.vacuumed.insert(part);
            }
            (None, _) => {
                f.letters += letters::discard(self, &f).await?;
                if let Files::Here(files) = &self.queue_files {
                    files.vacuum(&[], erased_at, now).await?;
                }
                f.state = ForgettingState::Proving;
            }
        }
        f.updated_at = self.clock.now();
        Ok(self.forget.put(&f).await?)
    }

    async fn publish(&self, f: &Forgetting, work: Work, why: String) -> Result<(), Trouble> {
        let (tenant, now) = (f.scope.tenant.clone(), self.clock.now());
        // A forgetting that goes on is another message than the one that began it.
        let cause = format!("{} {}", f.id, f.revision);
        let task = CompactionTask::triggered(tenant.clone(), work, why, &cause, now);
        let request = CompactionRequested { task: Some(compaction_task_to_proto(&task)) };
        let message = Envelope {
            id: task.id.0,
            schema: schema::COMPACTION_REQUESTED.to_owned(),
            tenant,
            occurred_at: now,
            trace_context: BTreeMap::new(),
            payload: request.encode_to_vec(),
        };
        Ok(self.bus.publish(Queue::Compact, vec![message]).await?)
    }
}
