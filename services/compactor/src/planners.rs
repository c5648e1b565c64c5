//! Reads what each policy has to look at, a page at a time, and has it planned. One file per policy: a page of rows,
//! then the pure planner in `hindsight_lifecycle`.

mod archive;
mod condense;
mod contradictions;
mod facts;
mod failure_patterns;
mod lessons;
mod merge;
mod raw_events;
mod walk;

use std::sync::Arc;

use hindsight_lifecycle::plan::{ByTenant, Planned, Settings};
use hindsight_ports::{Archive, Bus, Clock, Ledger, Queue, StoreError, Upkeep};
use hindsight_types::{EvidencePolicies, EvidencePolicy, Policy, TenantId, Timestamp};

pub(crate) struct Planners {
    pub(crate) upkeep: Arc<dyn Upkeep>,
    pub(crate) archive: Arc<dyn Archive>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) evidence: Arc<EvidencePolicies>,
    pub(crate) policies: Arc<ByTenant>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: Arc<dyn Bus>,
}

/// What one page of rows has to be done.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) planned: Vec<Planned>,
    /// Where the next page begins; empty at the end.
    pub(crate) next: String,
}

/// What one page is planned for.
#[derive(Clone, Copy)]
pub(crate) struct Looking<'a> {
    pub(crate) upkeep: &'a dyn Upkeep,
    pub(crate) archive: &'a dyn Archive,
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) tenant: &'a TenantId,
    pub(crate) evidence: EvidencePolicy,
    pub(crate) settings: &'a Settings,
    /// Empty at the beginning.
    pub(crate) cursor: &'a str,
    pub(crate) now: Timestamp,
    /// Runs wait to be judged.
    pub(crate) judging: bool,
}

impl Planners {
    /// Plans the page that begins at `cursor`. Changes nothing. Pages of one run may be planned by different
    /// processes, and one page twice.
    pub(crate) async fn page(
        &self,
        tenant: &TenantId,
        policy: Policy,
        cursor: &str,
    ) -> Result<Page, StoreError> {
        let looking = Looking {
            upkeep: &*self.upkeep,
            archive: &*self.archive,
            ledger: &*self.ledger,
            tenant,
            evidence: self.evidence.of(tenant),
            settings: self.policies.of(tenant),
            cursor,
            now: self.clock.now(),
            judging: policy == Policy::RawEvents && self.judging().await?,
        };
        match policy {
            Policy::Lessons => lessons::page(looking).await,
            Policy::RawEvents => raw_events::page(looking).await,
            Policy::FailurePatterns => failure_patterns::page(looking).await,
            Policy::Condense => condense::page(looking).await,
            Policy::Merge => merge::page(looking).await,
            Policy::Archive => archive::page(looking).await,
            Policy::Contradictions => contradictions::page(looking).await,
            Policy::Facts => facts::page(looking).await,
        }
    }

    /// Whether anything is on its way to the judge.
    async fn judging(&self) -> Result<bool, StoreError> {
        for queue in [Queue::Ingest, Queue::Evaluate] {
            let away = |e| StoreError::Unavailable(format!("the bus: {e}"));
            let stats = self.bus.stats(queue).await.map_err(away)?;
            if stats.ready + stats.delayed + stats.unsettled > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
