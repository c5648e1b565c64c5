//! Does pieces of upkeep, one file per kind of work.
//!
//! Each looks again before it acts: what is no longer to be done is skipped, with the reason. Doing one twice changes
//! nothing the second time. Its end is put on the record of its run before the delivery is settled.

mod archive;
mod condense;
mod correct;
mod expire_archived;
mod expire_events;
mod expire_facts;
mod forget;
mod memories;
mod merge;
mod recount;
mod rederive;
mod restage;
mod supersede;
mod unheard;
mod worker;

use std::{fmt, sync::Arc};

use hindsight_forgetting::Forgetter;
use hindsight_lifecycle::plan::ByTenant;
use hindsight_ports::{Archive, Clock, Compactions, Embedder, History, Ledger, MemoryStore, Upkeep};
use hindsight_types::{EvidencePolicies, Scope, TenantId, Work};

use crate::{bench::Bench, broken::Broken};

pub(crate) use worker::Worker;

/// What upkeep needs beside the store.
#[derive(Clone)]
pub struct Compaction {
    pub upkeep: Arc<dyn Upkeep>,
    pub compactions: Arc<dyn Compactions>,
    pub ledger: Arc<dyn Ledger>,
    pub history: Arc<dyn History>,
    pub archive: Arc<dyn Archive>,
    pub evidence: Arc<EvidencePolicies>,
    /// Thresholds that are looked at again before something is done.
    pub settings: Arc<ByTenant>,
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What each kind of work is done with.
pub(crate) struct Tools {
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) compaction: Compaction,
    pub(crate) bench: Arc<Bench>,
}

/// How a piece of work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    Done,
    /// What it was to act on is no longer so.
    Skipped {
        why: String,
    },
}

impl Effect {
    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped { why: why.into() }
    }
}

/// Does it.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, work: &Work) -> Result<Effect, Broken> {
    match work {
        Work::Restage { lessons } => restage::run(tools, tenant, lessons).await,
        Work::ExpireEvents { traces } => expire_events::run(tools, tenant, traces).await,
        Work::Recount { patterns } => recount::run(tools, tenant, patterns).await,
        Work::Rederive { kind, memories, runs, visibility, corrections } => {
            let scope = Scope::new(tenant.clone(), visibility.clone());
            rederive::run(tools, &scope, *kind, memories, runs, corrections).await
        }
        Work::Forget { forgetting } => forget::run(tools, tenant, *forgetting).await,
        Work::Condense { sources } => condense::run(tools, tenant, sources).await,
        Work::Merge { kind, keep, duplicates } => merge::run(tools, tenant, *kind, *keep, duplicates).await,
        Work::Archive { kind, memories, surplus } => {
            archive::run(tools, tenant, *kind, memories, *surplus).await
        }
        Work::ExpireArchived { kind, memories } => expire_archived::run(tools, tenant, *kind, memories).await,
        Work::Supersede { kind, newer, older } => supersede::run(tools, tenant, *kind, *newer, older).await,
        Work::ExpireFacts { facts } => expire_facts::run(tools, tenant, facts).await,
    }
}

fn forgetter(tools: &Tools) -> Result<&Forgetter, Broken> {
    let problem = || Broken::Final("this worker was made without what it takes to forget".to_owned());
    tools.bench.forgetter.get().ok_or_else(problem)
}
