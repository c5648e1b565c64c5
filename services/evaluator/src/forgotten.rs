//! What was forgotten is not judged, and what a worker wrote of it meanwhile goes again.

use hindsight_forgetting::{Arriving, Trouble, of_run};
use hindsight_ports::StoreError;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{Forgotten, Memory, Subject, TenantId, Timestamp, TraceId, Trajectory};

use crate::{bench::Bench, broken::Broken};

impl From<Trouble> for Broken {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error.into(),
            Trouble::Bus(error) => error.into(),
        }
    }
}

/// Whose a run is: kept while the run itself is taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    tenant: TenantId,
    trace: TraceId,
    arriving: Arriving,
}

impl Whose {
    pub(crate) fn of(run: &Trajectory) -> Self {
        let (tenant, trace) = (run.scope.tenant.clone(), run.trace_id.clone());
        Self { tenant, trace, arriving: of_run(run) }
    }
}

impl Bench {
    pub(crate) async fn forgotten(
        &self,
        tenant: &TenantId,
        arriving: &Arriving,
    ) -> Result<Option<Forgotten>, StoreError> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(None) };
        let found = forgetter.forgotten(tenant, std::slice::from_ref(arriving)).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// Whether a run is not to be judged any more. One of which others may see something is swept: its user may be
    /// known only now.
    pub(crate) async fn is_forgotten(&self, run: &Whose) -> Result<bool, Broken> {
        let Some(forgotten) = self.forgotten(&run.tenant, &run.arriving).await? else { return Ok(false) };
        self.sweep_run(run, &forgotten).await?;
        Metric::Forgotten.add(1, &[(Label::Kind, "run")]);
        Ok(true)
    }

    /// To be called when everything of a run is written: what was written while it was being forgotten goes again.
    pub(crate) async fn settle(&self, run: &Whose) -> Result<(), Broken> {
        match self.forgotten(&run.tenant, &run.arriving).await? {
            Some(forgotten) => self.sweep_run(run, &forgotten).await,
            None => Ok(()),
        }
    }

    async fn sweep_run(&self, run: &Whose, forgotten: &Forgotten) -> Result<(), Broken> {
        self.sweep(&run.trace, forgotten, "judged").await
    }

    /// Has all of a run be deleted again that was written since it was forgotten. `cause` tells one time from another.
    pub(crate) async fn sweep(
        &self,
        trace: &TraceId,
        forgotten: &Forgotten,
        cause: &str,
    ) -> Result<(), Broken> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(()) };
        let subject = Subject::Run(trace.clone());
        let forgotten = Forgotten { subject, ..forgotten.clone() };
        Ok(forgetter.sweep(&forgotten, cause).await?)
    }

    /// Has what a run taught everybody taken away: it turned out whose it is. `since`: when it was not known yet.
    pub(crate) async fn take_back(&self, run: &Whose, since: Timestamp) -> Result<(), Broken> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(()) };
        Ok(forgetter.take_back(&run.tenant, &run.trace, since).await?)
    }

    /// Without the memories that were deleted by themselves after `recorded_at`: the same run does not teach them
    /// again.
    pub(crate) async fn without_deleted(
        &self,
        tenant: &TenantId,
        mut memories: Vec<Memory>,
        recorded_at: Timestamp,
    ) -> Result<Vec<Memory>, StoreError> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(memories) };
        let of = |memory: &Memory| Arriving {
            subjects: vec![Subject::Memory(memory.kind(), memory.id())],
            recorded_at,
        };
        let arriving: Vec<_> = memories.iter().map(of).collect();
        let mut forgotten = forgetter.forgotten(tenant, &arriving).await?.into_iter();
        memories.retain(|_| forgotten.next().flatten().is_none());
        Ok(memories)
    }
}
