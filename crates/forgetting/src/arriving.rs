//! What is on its way: whose it is, and when it was recorded.

use std::collections::{HashMap, HashSet};

use hindsight_ports::{Forget, MOST_SUBJECTS, StoreError};
use hindsight_types::{
    Event, EventBody, Fact, Forgotten, MemoryKind, Subject, TenantId, Timestamp, Trajectory, UserId,
};
use uuid::Uuid;

/// Something that is about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arriving {
    /// Any of them may have been forgotten.
    pub subjects: Vec<Subject>,
    pub recorded_at: Timestamp,
}

pub fn of_event(event: &Event) -> Arriving {
    let named = match &event.body {
        EventBody::Started(started) => started.user.as_ref(),
        _ => None,
    };
    let mut subjects = users([event.scope.user(), named]);
    subjects.push(Subject::Run(event.trace_id.clone()));
    Arriving { subjects, recorded_at: event.recorded_at }
}

pub fn of_fact(fact: &Fact) -> Arriving {
    let mut subjects = users([fact.scope.user()]);
    subjects.push(Subject::Memory(MemoryKind::Fact, fact.id));
    Arriving { subjects, recorded_at: fact.retained_at }
}

/// A run counts from its beginning: one that was under way is forgotten as a whole.
pub fn of_run(run: &Trajectory) -> Arriving {
    let mut subjects = users([run.scope.user(), run.user.as_ref()]);
    subjects.push(Subject::Run(run.trace_id.clone()));
    Arriving { subjects, recorded_at: run.started_at }
}

fn users<'a>(named: impl IntoIterator<Item = Option<&'a UserId>>) -> Vec<Subject> {
    let mut users: Vec<_> = named.into_iter().flatten().cloned().map(Subject::User).collect();
    users.dedup();
    users
}

pub(crate) async fn forgotten(
    forget: &dyn Forget,
    tenant: &TenantId,
    arriving: &[Arriving],
) -> Result<Vec<Option<Forgotten>>, StoreError> {
    let mut known = HashSet::new();
    let subjects = arriving.iter().flat_map(|a| &a.subjects).filter(|s| known.insert(s.key()));
    let subjects: Vec<Subject> = subjects.cloned().collect();
    let mut tombstones: HashMap<Uuid, Forgotten> = HashMap::new();
    for subjects in subjects.chunks(MOST_SUBJECTS) {
        let found = forget.forgotten(tenant, subjects).await?;
        tombstones.extend(found.into_iter().map(|forgotten| (forgotten.subject.key(), forgotten)));
    }
    let of = |arriving: &Arriving| {
        let covers = |f: &&Forgotten| f.at >= arriving.recorded_at;
        arriving.subjects.iter().filter_map(|s| tombstones.get(&s.key())).find(covers).cloned()
    };
    Ok(arriving.iter().map(of).collect())
}
