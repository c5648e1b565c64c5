//! In which scope a task began, for its later events that state none: a private run must not become
//! anyone's by a step that forgot to say whose it is. A memory of bounded size, no more than a courtesy:
//! who states the scope on every event depends on nothing.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use hindsight_types::{Event, EventBody, Scope, TenantId, TraceId};

/// Tasks that are remembered; the oldest go first.
const TASKS: usize = 20_000;

type Key = (TenantId, TraceId);

#[derive(Debug, Default)]
pub(crate) struct Scopes(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    scopes: HashMap<Key, Scope>,
    order: VecDeque<Key>,
}

impl Scopes {
    pub(crate) fn of(&self, tenant: &TenantId, trace: &TraceId) -> Option<Scope> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.scopes.get(&(tenant.clone(), trace.clone())).cloned()
    }

    /// Remembers the scope when `event` begins a task.
    pub(super) fn learn(&self, event: &Event) {
        if matches!(event.body, EventBody::Started(_)) {
            self.remember(&event.trace_id, &event.scope);
        }
    }

    /// Remembers the scope of a task that has begun.
    pub(crate) fn remember(&self, trace: &TraceId, scope: &Scope) {
        let key = (scope.tenant.clone(), trace.clone());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.scopes.insert(key.clone(), scope.clone()).is_none() {
            known.order.push_back(key);
        }
        while known.order.len() > TASKS {
            if let Some(oldest) = known.order.pop_front() {
                known.scopes.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hindsight_types::{EventId, TaskStarted, Timestamp, Visibility};

    use super::*;

    #[test]
    fn the_oldest_tasks_are_forgotten() {
        let scopes = Scopes::default();
        let tenant = TenantId::new("acme").unwrap();
        let trace = |i: usize| TraceId::new(format!("t-{i}")).unwrap();
        for i in 0..=TASKS {
            scopes.learn(&Event {
                event_id: EventId::derived(&tenant, &trace(i), "started"),
                scope: Scope::new(tenant.clone(), Visibility::Tenant),
                trace_id: trace(i),
                recorded_at: Timestamp::UNIX_EPOCH,
                body: EventBody::Started(TaskStarted {
                    goal: "g".to_owned(),
                    session: None,
                    user: None,
                    agent: None,
                    task_type: None,
                    environment: hindsight_types::Environment::default(),
                    receipts: Vec::new(),
                }),
            });
        }
        assert_eq!(scopes.of(&tenant, &trace(0)), None);
        assert!(scopes.of(&tenant, &trace(1)).is_some() && scopes.of(&tenant, &trace(TASKS)).is_some());
        assert_eq!(scopes.of(&TenantId::new("other").unwrap(), &trace(1)), None);
    }
}
