//! Ends tasks of which nothing more is heard: an agent that crashed, a client that never said how it went.
//! The end goes through the queue like every other event, under an id that follows from the run, so that
//! two leaders do nothing twice, and only a cluster's own upkeep ever sees tasks of several tenants.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hindsight_codec::{event_to_proto, schema, scope_to_proto};
use hindsight_ingest::{
    assemble::{ending, evaluation_request_id, scope_of},
    otlp,
};
use hindsight_ports::{Bus, BusError, Clock, Envelope, MemoryStore, PageRequest, Queue, StoreError};
use hindsight_proto::event::v1::EvaluationRequested;
use hindsight_types::{Event, OpenTask, Scope, TenantId, TraceId, Viewer, Visibility};
use prost::Message as _;

use crate::CompactorSettings;

/// Tasks looked at between two publishes.
const PAGE: usize = 100;

pub(crate) struct Idle {
    pub(crate) settings: CompactorSettings,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Bus(#[from] BusError),
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Looked {
    pub(crate) ended: usize,
    /// Had ended already, or left nothing behind.
    pub(crate) cleared: usize,
}

impl Idle {
    /// Looks at every open task that was not touched lately. What is ended stays open until the ingester
    /// has its end, so an end that gets lost is made again.
    pub(crate) async fn look(&self) -> Result<Looked, Trouble> {
        let mut looked = Looked::default();
        if self.is_behind().await? {
            return Ok(looked);
        }
        // The collector touches a task a tenth of this apart.
        let patience = self.settings.idle_after + self.settings.idle_after / 10;
        let before = self.clock.now() - patience;
        let mut page = PageRequest { size: PAGE, token: String::new() };
        loop {
            let found = self.store.idle_tasks(before, &page).await?;
            let (mut ends, mut over, mut grown) = (Vec::new(), Vec::new(), Vec::new());
            for task in found.items {
                let events = self.events(&task).await?;
                match ending(&events) {
                    Some(end) => ends.push(end),
                    None => {
                        grown.extend(self.grown(&task, &events).await?);
                        over.push((task.scope.tenant, task.trace_id));
                    }
                }
            }
            looked.ended += ends.len();
            looked.cleared += over.len();
            self.end(&ends).await?;
            self.bus.publish(Queue::Evaluate, grown).await?;
            self.clear(&over).await?;
            if found.next_token.is_empty() {
                return Ok(looked);
            }
            page.token = found.next_token;
        }
    }

    /// Whether events wait that may well belong to tasks that look idle: after an outage, say.
    async fn is_behind(&self) -> Result<bool, BusError> {
        let oldest = self.bus.stats(Queue::Ingest).await?.oldest;
        let behind = oldest.is_some_and(|age: Duration| age > self.settings.idle_after / 10);
        if behind {
            tracing::info!(?oldest, "events wait to be stored; idle tasks are looked at later");
        }
        Ok(behind)
    }

    /// Everything of the run: its own scope, and what the whole tenant may see, which joins it.
    async fn events(&self, task: &OpenTask) -> Result<Vec<Event>, StoreError> {
        let mut events = self.store.events(&task.scope, &task.trace_id).await?;
        let shared = Scope::new(task.scope.tenant.clone(), Visibility::Tenant);
        if shared != task.scope {
            events.extend(self.store.events(&shared, &task.trace_id).await?);
        }
        if otlp::spans(&events) > 0 {
            events = self.store.trace_events(&task.scope.tenant, &task.trace_id).await?;
        }
        Ok(events)
    }

    /// Asks for a run to be judged of which spans came after it was, or that never was asked for.
    async fn grown(&self, task: &OpenTask, events: &[Event]) -> Result<Option<Envelope>, StoreError> {
        let Some(count) = otlp::last_look(events) else { return Ok(None) };
        let scope = scope_of(events).unwrap_or(&task.scope);
        let record = self.store.evaluation_record(&Viewer::of_scope(scope), &task.trace_id).await?;
        if record.is_some_and(|r| r.step_count >= count) {
            return Ok(None);
        }
        let request = EvaluationRequested {
            trace_id: task.trace_id.to_string(),
            scope: Some(scope_to_proto(scope)),
            step_count: count,
            not_before: None,
        };
        Ok(Some(Envelope {
            id: evaluation_request_id(&scope.tenant, &task.trace_id, count).0,
            schema: schema::EVALUATION_REQUESTED.to_owned(),
            tenant: scope.tenant.clone(),
            occurred_at: self.clock.now(),
            trace_context: BTreeMap::new(),
            payload: request.encode_to_vec(),
        }))
    }

    async fn end(&self, ends: &[Event]) -> Result<(), BusError> {
        if ends.is_empty() {
            return Ok(());
        }
        for end in ends {
            let (tenant, trace) = (&end.scope.tenant, &end.trace_id);
            tracing::info!(%tenant, %trace, "a task was left open; it is ended with outcome unknown");
        }
        self.bus.publish(Queue::Ingest, ends.iter().map(envelope).collect()).await
    }

    async fn clear(&self, over: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        if over.is_empty() { Ok(()) } else { self.store.clear_open(over).await }
    }
}

fn envelope(end: &Event) -> Envelope {
    Envelope {
        id: end.event_id.0,
        schema: schema::EVENT_RECORDED.to_owned(),
        tenant: end.scope.tenant.clone(),
        occurred_at: end.recorded_at,
        trace_context: BTreeMap::new(),
        payload: event_to_proto(end).encode_to_vec(),
    }
}

#[cfg(test)]
mod tests;
