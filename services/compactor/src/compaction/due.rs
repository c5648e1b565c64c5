//! Which runs are due. What was missed while no compactor ran is due once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use hindsight_ports::StoreError;
use hindsight_types::{CompactionRun, Policy, TenantId, Timestamp, Trigger};

use super::{Broken, Compaction};

const MINUTE: i64 = 60;
/// Seconds between two looks at how much has gathered.
const GATHERED: i64 = 10 * 60;
/// A run that is begun because much has gathered is begun once in so many seconds.
const BURST: i64 = 6 * 60 * 60;

/// What this process has begun or found begun. Lost with it, which costs a look at the store.
#[derive(Debug, Default)]
pub(super) struct Due(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The minute of the last look.
    minute: Option<i64>,
    begun: BTreeMap<(TenantId, Policy, Trigger), Timestamp>,
    /// When it was last looked how much has gathered, in units of [`GATHERED`].
    looked: BTreeMap<TenantId, i64>,
}

impl Due {
    /// Once a minute: schedules know no less.
    fn is_new_minute(&self, now: Timestamp) -> bool {
        let minute = now.as_second().div_euclid(MINUTE);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.minute.replace(minute) != Some(minute)
    }

    /// Whether it is time to look again how much of a tenant has gathered.
    fn is_to_look(&self, tenant: &TenantId, now: Timestamp) -> bool {
        let looked = now.as_second().div_euclid(GATHERED);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.looked.insert(tenant.clone(), looked) != Some(looked)
    }

    /// The next look is made at once.
    fn forget_minute(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).minute = None;
    }

    fn is_begun(&self, run: &CompactionRun) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (run.tenant().clone(), run.policy, run.trigger);
        known.begun.get(&key).is_some_and(|due| *due >= run.due_at)
    }

    fn note(&self, run: &CompactionRun) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.begun.insert((run.tenant().clone(), run.policy, run.trigger), run.due_at);
    }
}

impl Compaction {
    /// Begins what is due, and says what was begun. A policy of a tenant that is at work is left alone: what it is
    /// due for meanwhile is due once, afterwards.
    pub(super) async fn begin_due(&self, open: &[CompactionRun]) -> Result<Vec<CompactionRun>, Broken> {
        let now = self.clock.now();
        if !self.due.is_new_minute(now) {
            return Ok(Vec::new());
        }
        let begun = self.begin_each(open, now).await;
        if begun.is_err() {
            self.due.forget_minute();
        }
        Ok(begun?)
    }

    async fn begin_each(
        &self,
        open: &[CompactionRun],
        now: Timestamp,
    ) -> Result<Vec<CompactionRun>, StoreError> {
        self.expire(now).await?;
        let at_work: BTreeSet<(&TenantId, Policy)> = open.iter().map(|r| (r.tenant(), r.policy)).collect();
        let mut begun = Vec::new();
        for tenant in self.upkeep.tenants().await? {
            for policy in Policy::ALL {
                if at_work.contains(&(&tenant, policy)) || !self.policies.of(&tenant).enabled(policy) {
                    continue;
                }
                let run = match self.scheduled(&tenant, policy, now) {
                    Some(run) if self.is_new(&run).await? => Some(run),
                    _ => self.burst(&tenant, policy, now).await?,
                };
                if let Some(run) = run {
                    if let Some(stored) = self.put(run.clone()).await? {
                        begun.push(stored);
                    }
                    self.due.note(&run);
                }
            }
        }
        Ok(begun)
    }

    fn scheduled(&self, tenant: &TenantId, policy: Policy, now: Timestamp) -> Option<CompactionRun> {
        let due_at = self.policies.of(tenant).timing(policy)?.schedule.latest(now)?;
        // Of what was due before that no record is kept: it may have been begun.
        let told = due_at + self.runs.kept > now;
        told.then(|| CompactionRun::due(tenant.clone(), policy, Trigger::Schedule, due_at, now))
    }

    /// Whether nobody has begun it yet.
    async fn is_new(&self, run: &CompactionRun) -> Result<bool, StoreError> {
        if self.due.is_begun(run) {
            return Ok(false);
        }
        let known = self.compactions.run(run.tenant(), run.id).await?;
        if known.is_some() {
            self.due.note(run);
        }
        Ok(known.is_none())
    }

    /// A run before its time because very many raw events are old.
    async fn burst(
        &self,
        tenant: &TenantId,
        policy: Policy,
        now: Timestamp,
    ) -> Result<Option<CompactionRun>, StoreError> {
        if policy != Policy::RawEvents || !self.due.is_to_look(tenant, now) {
            return Ok(None);
        }
        let since = now.as_second().div_euclid(BURST) * BURST;
        let Ok(due_at) = Timestamp::from_second(since) else { return Ok(None) };
        let run = CompactionRun::due(tenant.clone(), policy, Trigger::Threshold, due_at, now);
        if self.due.is_begun(&run) {
            return Ok(None);
        }
        let before = now - self.policies.of(tenant).raw_events.keep;
        let many = self.upkeep.count_old_events(tenant, before).await? > self.runs.old_events;
        Ok(if many && self.is_new(&run).await? { Some(run) } else { None })
    }

    async fn expire(&self, now: Timestamp) -> Result<(), StoreError> {
        let expired = self.compactions.expire_runs(now - self.runs.kept).await?;
        if expired > 0 {
            tracing::info!(expired, "records of old runs of upkeep were deleted");
        }
        Ok(())
    }
}
