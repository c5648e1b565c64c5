use std::collections::BTreeMap;

use hindsight_ports::{Envelope, Queue};
use hindsight_types::{TenantId, Timestamp};
use http::HeaderMap;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use proptest::prelude::*;

use super::*;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-01";

/// Runs `work` where spans are traced, though exported nowhere.
fn traced<T>(work: impl FnOnce() -> T) -> T {
    let provider = SdkTracerProvider::builder().with_sampler(Sampler::AlwaysOn).build();
    let log = log::subscriber(true, &Filter::default(), std::io::sink, Some(&provider)).unwrap();
    tracing::dispatcher::with_default(&log, work)
}

fn carried(traceparent: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("traceparent".to_owned(), traceparent.to_owned())])
}

fn envelope(trace_context: BTreeMap<String, String>) -> Envelope {
    Envelope {
        id: uuid::Uuid::nil(),
        schema: "s".to_owned(),
        tenant: TenantId::new("acme").unwrap(),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context,
        payload: Vec::new(),
    }
}

/// Trace id and span id of a `traceparent`.
fn ids(carried: &BTreeMap<String, String>) -> (&str, &str) {
    let mut parts = carried["traceparent"].split('-').skip(1);
    (parts.next().unwrap(), parts.next().unwrap())
}

fn headers(traceparent: &str) -> HeaderMap {
    HeaderMap::from_iter([("traceparent".parse().unwrap(), traceparent.parse().unwrap())])
}

#[test]
fn a_call_goes_on_in_the_trace_of_its_caller() {
    traced(|| {
        let span = tracing::info_span!(target: "hindsight_api", "rpc", otel.kind = "server");
        span::serve(&span, "hindsight.t.v1.T/Get", &headers(CALLER));
        let here = span.in_scope(context::current);
        assert_eq!(ids(&here).0, ids(&carried(CALLER)).0);
        assert_ne!(ids(&here).1, ids(&carried(CALLER)).1);
        let mut onward = HeaderMap::new();
        span.in_scope(|| span::client("/hindsight.t.v1.T/Put", &mut onward));
        assert_eq!(ids(&context::of_headers(&onward)).0, ids(&here).0);
        assert_ne!(ids(&context::of_headers(&onward)).1, ids(&here).1);
    });
}

#[test]
fn work_for_one_trace_joins_it_and_work_for_many_begins_its_own() {
    traced(|| {
        let one = [envelope(carried(CALLER)), envelope(carried(CALLER))];
        let span = span::process_batch(Queue::Ingest, one.iter());
        assert_eq!(ids(&span.in_scope(context::current)).0, ids(&carried(CALLER)).0);
        let many = [envelope(carried(CALLER)), envelope(BTreeMap::new()), envelope(carried(OTHER))];
        let span = span::process_batch(Queue::Ingest, many.iter());
        let own = span.in_scope(context::current);
        assert!(![CALLER, OTHER].iter().any(|c| ids(&carried(c)).0 == ids(&own).0));
    });
}

#[test]
fn where_nothing_is_traced_calls_pass_untouched() {
    let mut headers = HeaderMap::new();
    let span = span::client("/hindsight.t.v1.T/Get", &mut headers);
    assert!(span.is_disabled() && headers.is_empty() && context::current().is_empty());
}

proptest! {
    #[test]
    fn hostile_headers_make_no_parent_and_no_panic(parent in "\\PC{0,80}", state in "\\PC{0,600}") {
        let foreign = BTreeMap::from([("traceparent".to_owned(), parent), ("tracestate".to_owned(), state)]);
        traced(|| {
            let span = span::process(Queue::Evaluate, &envelope(foreign), 1);
            prop_assert_eq!(ids(&span.in_scope(context::current)).0.len(), 32);
            Ok(())
        })?;
    }
}

#[test]
fn metrics_are_rendered_with_help_and_buckets() {
    let recorder = recorder::builder().unwrap().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        Metric::ALL.iter().for_each(|m| m.describe());
        Metric::StoreDuration.record(0.02, &[(Label::Operation, "search")]);
        Metric::Evaluations.add(2, &[(Label::Result, "judged")]);
    });
    let text = handle.render();
    for line in [
        "# HELP hindsight_store_duration_seconds Time a call of the store takes.",
        "hindsight_store_duration_seconds_bucket{operation=\"search\",le=\"0.01\"} 0",
        "hindsight_store_duration_seconds_bucket{operation=\"search\",le=\"0.025\"} 1",
        "hindsight_evaluations_total{result=\"judged\"} 2",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}
