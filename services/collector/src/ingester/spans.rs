//! When runs that are told by spans are judged: some time after their root, since spans may be on their way, and
//! again when some come later than that. What this process does not know of, the last look at an idle task finds.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hindsight_ingest::{assemble::evaluation_request_id, otlp};
use hindsight_ports::Envelope;
use hindsight_types::{Event, EventBody, EventId, TenantId, Timestamp, TraceId};

use crate::message::{self, TraceContext};

/// Runs whose root is remembered; the oldest go first.
const RUNS: usize = 20_000;

type Run = (TenantId, TraceId);

/// The runs whose root this process has written.
#[derive(Debug, Default)]
pub(super) struct Ended(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    runs: HashSet<Run>,
    order: VecDeque<Run>,
}

impl Ended {
    /// The requests that spans just written call for, one per run.
    pub(super) fn asked<'a>(
        &self,
        written: impl Iterator<Item = (&'a Event, &'a TraceContext)>,
        grace: Duration,
        now: Timestamp,
    ) -> Vec<Envelope> {
        let mut runs: BTreeMap<(&TenantId, &TraceId), (&Event, &TraceContext)> = BTreeMap::new();
        for (event, context) in written.filter(|(e, _)| matches!(e.body, EventBody::Span(_))) {
            let entry = runs.entry((&event.scope.tenant, &event.trace_id)).or_insert((event, context));
            if otlp::ends(&event.body) {
                *entry = (event, context);
            }
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |((tenant, trace), (event, context)): ((&TenantId, &TraceId), (&Event, &TraceContext))| {
            let root = otlp::ends(&event.body);
            let id = if root {
                known.add((tenant.clone(), trace.clone()));
                evaluation_request_id(tenant, trace, 0)
            } else if known.runs.contains(&(tenant.clone(), trace.clone())) {
                EventId::derived(tenant, trace, &format!("evaluate after {}", event.event_id))
            } else {
                return None;
            };
            Some(message::evaluation_of_spans(event, id, now + grace, context, now))
        };
        runs.into_iter().filter_map(ask).collect()
    }
}

impl Known {
    fn add(&mut self, run: Run) {
        if self.runs.insert(run.clone()) {
            self.order.push_back(run);
        }
        while self.order.len() > RUNS {
            if let Some(oldest) = self.order.pop_front() {
                self.runs.remove(&oldest);
            }
        }
    }
}
