//! What was forgotten is not written, and what was written while it was being forgotten goes again.

use std::collections::BTreeMap;

use hindsight_forgetting::{Arriving, Trouble, of_event, of_fact};
use hindsight_ports::StoreError;
use hindsight_types::{Event, EventBody, Fact, Forgotten, Subject, TenantId};

use super::{Shared, batch::Failure};

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error.into(),
            Trouble::Bus(error) => error.into(),
        }
    }
}

/// What a message carries, for what was forgotten.
pub(super) trait Arrives {
    /// As drops are counted.
    const KIND: &'static str;
    fn arriving(&self) -> (&TenantId, Arriving);
    fn id(&self) -> String;
    /// What else goes when it is dropped.
    fn takes_along(&self) -> Option<Subject>;
}

impl Arrives for Event {
    const KIND: &'static str = "event";

    fn arriving(&self) -> (&TenantId, Arriving) {
        (&self.scope.tenant, of_event(self))
    }

    fn id(&self) -> String {
        self.event_id.to_string()
    }

    /// Only the start of a run that others may see says whose it is.
    fn takes_along(&self) -> Option<Subject> {
        match &self.body {
            EventBody::Started(started) if started.user.as_ref() != self.scope.user() => {
                Some(Subject::Run(self.trace_id.clone()))
            }
            _ => None,
        }
    }
}

impl Arrives for Fact {
    const KIND: &'static str = "fact";

    fn arriving(&self) -> (&TenantId, Arriving) {
        (&self.scope.tenant, of_fact(self))
    }

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn takes_along(&self) -> Option<Subject> {
        None
    }
}

impl Shared {
    /// Of each, what says that it was forgotten.
    pub(super) async fn forgotten<T: Arrives>(
        &self,
        arrived: &[&T],
    ) -> Result<Vec<Option<Forgotten>>, StoreError> {
        let mut of = vec![None; arrived.len()];
        let Some(forgetter) = self.forgetter.get() else { return Ok(of) };
        let mut by_tenant: BTreeMap<&TenantId, (Vec<usize>, Vec<Arriving>)> = BTreeMap::new();
        for (at, value) in arrived.iter().enumerate() {
            let (tenant, arriving) = value.arriving();
            let (places, all) = by_tenant.entry(tenant).or_default();
            places.push(at);
            all.push(arriving);
        }
        for (tenant, (places, arriving)) in by_tenant {
            for (at, forgotten) in places.into_iter().zip(forgetter.forgotten(tenant, &arriving).await?) {
                of[at] = forgotten;
            }
        }
        Ok(of)
    }

    /// Has what arrived of forgotten subjects deleted wherever it got to, once per subject.
    pub(super) async fn sweep<'a, T: Arrives + 'a>(
        &self,
        arrived: impl Iterator<Item = (&'a T, &'a Forgotten)>,
    ) -> Result<(), Failure> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(()) };
        let mut swept: BTreeMap<_, (Forgotten, String)> = BTreeMap::new();
        for (value, forgotten) in arrived {
            let tenant = forgotten.scope.tenant.clone();
            for subject in [Some(forgotten.subject.clone()), value.takes_along()].into_iter().flatten() {
                let key = (tenant.clone(), subject.key());
                let forgotten = Forgotten { subject, ..forgotten.clone() };
                swept.entry(key).or_insert_with(|| (forgotten, value.id()));
            }
        }
        for (forgotten, cause) in swept.into_values() {
            forgetter.sweep(&forgotten, &cause).await?;
        }
        Ok(())
    }

    /// To be called when these are written, and before they are acknowledged.
    pub(super) async fn settle_forgotten<T: Arrives>(&self, written: &[&T]) -> Result<(), Failure> {
        let forgotten = self.forgotten(written).await?;
        let late = written.iter().zip(&forgotten).filter_map(|(value, f)| Some((*value, f.as_ref()?)));
        self.sweep(late).await
    }
}
