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

    /// To be called before `value` is dropped.
    pub(super) async fn take_along<T: Arrives>(
        &self,
        value: &T,
        forgotten: Forgotten,
    ) -> Result<(), Failure> {
        match (value.takes_along(), self.forgetter.get()) {
            (Some(subject), Some(forgetter)) => {
                Ok(forgetter.sweep(&Forgotten { subject, ..forgotten }, &value.id()).await?)
            }
            _ => Ok(()),
        }
    }

    /// To be called when these are written, and before they are acknowledged.
    pub(super) async fn settle_forgotten<T: Arrives>(&self, written: &[&T]) -> Result<(), Failure> {
        let Some(forgetter) = self.forgetter.get() else { return Ok(()) };
        for (value, forgotten) in written.iter().zip(self.forgotten(written).await?) {
            if let Some(forgotten) = forgotten {
                forgetter.sweep(&forgotten, &value.id()).await?;
                self.take_along(*value, forgotten).await?;
            }
        }
        Ok(())
    }
}
