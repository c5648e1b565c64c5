//! From the spans of one export to the events of runs.

use std::collections::BTreeMap;

use hindsight_api::status;
use hindsight_ingest::{
    otlp::{self, Resource, Told},
    redact, validate,
};
use hindsight_ports::{Envelope, Queue};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{Event, EventBody, Scope, SpanRole, TenantId, Timestamp, TraceId, UserId, Visibility};
use tonic::Status;

use super::Otlp;
use crate::{
    NAME,
    message::{self, TraceContext},
    service::{Scopes, off_thread},
};

/// Most events in one publish.
const BATCH: usize = 256;
/// Longest message about spans that are refused.
const MESSAGE_BYTES: usize = 1024;

/// What is to be said to the exporter: how many spans are refused, and why the first is. Spans that tell
/// nothing of an agent's work are no matter of theirs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) rejected: i64,
    pub(super) message: String,
}

/// What is in an export.
#[derive(Default)]
struct Sorted {
    told: Vec<Told>,
    /// Roots that tell of nothing but the end of their trace.
    roots: Vec<Told>,
    ignored: u64,
    accepted: Accepted,
}

impl Otlp {
    /// Returns once the spans are durable.
    pub(super) async fn export(
        &self,
        tenant: TenantId,
        resources: Vec<Resource>,
        trace_context: TraceContext,
    ) -> Result<Accepted, Status> {
        let (now, scopes) = (self.clock.now(), self.scopes.clone());
        let work = move || {
            let sorted = sort(&resources);
            let (events, ignored) = events(&tenant, sorted.told, sorted.roots, &scopes, now);
            let mut accepted = sorted.accepted;
            let mut messages = Vec::with_capacity(events.len());
            for event in events {
                match checked(event) {
                    Ok(event) => messages.push(message::of_event(&event, &trace_context)),
                    Err(reason) => accepted.refuse(&reason),
                }
            }
            (messages, sorted.ignored + ignored, accepted)
        };
        let (messages, ignored, accepted) = off_thread(work).await?;
        let kept = messages.len() as u64;
        self.publish(messages).await?;
        let refused = u64::try_from(accepted.rejected).unwrap_or_default();
        for (result, count) in [("kept", kept), ("ignored", ignored), ("refused", refused)] {
            if count > 0 {
                Metric::OtlpSpans.add(count, &[(Label::Result, result)]);
            }
        }
        Ok(accepted)
    }

    async fn publish(&self, mut messages: Vec<Envelope>) -> Result<(), Status> {
        while !messages.is_empty() {
            let rest = messages.split_off(messages.len().min(BATCH));
            self.bus.publish(Queue::Ingest, messages).await.map_err(|e| status::bus(NAME, e))?;
            messages = rest;
        }
        Ok(())
    }
}

impl Accepted {
    fn refuse(&mut self, reason: &str) {
        self.rejected += 1;
        if self.message.is_empty() {
            self.message = reason[..reason.floor_char_boundary(MESSAGE_BYTES)].to_owned();
        }
    }
}

fn sort(resources: &[Resource]) -> Sorted {
    let mut sorted = Sorted::default();
    for resource in resources {
        for span in &resource.spans {
            match otlp::read(&resource.attributes, span) {
                Ok(Some(told)) if told.span.role == SpanRole::Root => sorted.roots.push(told),
                Ok(Some(told)) => sorted.told.push(told),
                Ok(None) => sorted.ignored += 1,
                Err(refused) => sorted.accepted.refuse(&refused.to_string()),
            }
        }
    }
    sorted
}

/// The events, and how many roots are passed over since no agent is known to have worked in their trace.
fn events(
    tenant: &TenantId,
    told: Vec<Told>,
    roots: Vec<Told>,
    scopes: &Scopes,
    now: Timestamp,
) -> (Vec<Event>, u64) {
    for (trace, user) in users(&told) {
        let known = scopes.of(tenant, trace).filter(|s| s.user().is_some());
        let visibility = user.map_or(Visibility::Tenant, |u| Visibility::User(u.clone()));
        let scope = known.unwrap_or_else(|| Scope::new(tenant.clone(), visibility));
        scopes.remember(trace, &scope);
    }
    let all = roots.len();
    let roots: Vec<Told> = roots.into_iter().filter(|t| scopes.of(tenant, &t.trace_id).is_some()).collect();
    let ignored = (all - roots.len()) as u64;
    let events = told.into_iter().chain(roots).map(|told| event(tenant, told, scopes, now)).collect();
    (events, ignored)
}

/// The user that the spans of each trace name, the earliest if there are several.
fn users(told: &[Told]) -> BTreeMap<&TraceId, Option<&UserId>> {
    let mut sorted: Vec<&Told> = told.iter().collect();
    sorted.sort_by_key(|t| (t.span.started_at, t.span.span_id.clone()));
    let mut users = BTreeMap::new();
    for t in sorted {
        let user: &mut Option<&UserId> = users.entry(&t.trace_id).or_default();
        *user = user.or(t.user.as_ref());
    }
    users
}

/// A span that names no user is taken to be its trace's, as far as that is known here: nobody else should see it
/// before the run is put together.
fn event(tenant: &TenantId, told: Told, scopes: &Scopes, now: Timestamp) -> Event {
    let Told { trace_id, user, mut span } = told;
    let own = user.map(|u| Scope::new(tenant.clone(), Visibility::User(u)));
    let scope = own.or_else(|| scopes.of(tenant, &trace_id));
    let scope = scope.unwrap_or_else(|| Scope::new(tenant.clone(), Visibility::Tenant));
    // A clock that is ahead would have a run outlive its user.
    (span.started_at, span.ended_at) = (span.started_at.min(now), span.ended_at.min(now));
    Event {
        event_id: otlp::event_id(tenant, &trace_id, &span.span_id),
        scope,
        trace_id,
        recorded_at: span.ended_at,
        body: EventBody::Span(Box::new(span)),
    }
}

fn checked(mut event: Event) -> Result<Event, String> {
    validate::event(&event).map_err(|e| e.to_string())?;
    redact::event(&mut event);
    Ok(event)
}
