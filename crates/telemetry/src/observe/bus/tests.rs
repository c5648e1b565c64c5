use std::collections::BTreeMap;

use hindsight_types::{TenantId, Timestamp};
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::*;

fn envelope(traceparent: Option<&str>) -> Envelope {
    Envelope {
        id: Uuid::nil(),
        schema: "s".to_owned(),
        tenant: TenantId::new("acme").unwrap(),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: traceparent
            .map_or_else(BTreeMap::new, |t| BTreeMap::from([("traceparent".to_owned(), t.to_owned())])),
        payload: Vec::new(),
    }
}

#[test]
fn messages_follow_the_publish_unless_they_belong_to_another_trace() {
    let provider = SdkTracerProvider::builder().build();
    let filter = crate::Filter::default();
    let log = crate::log::subscriber(true, &filter, std::io::sink, Some(&provider)).unwrap();
    tracing::dispatcher::with_default(&log, || {
        let caller = span::publish(Queue::Ingest, 1);
        let before = caller.in_scope(context::current);
        let other = "00-11111111111111111111111111111111-2222222222222222-01";
        let mut messages =
            [envelope(before.get("traceparent").map(String::as_str)), envelope(None), envelope(Some(other))];
        let publish = caller.in_scope(|| span::publish(Queue::Ingest, 3));
        carry(&publish, &mut messages);
        let own = publish.in_scope(context::current);
        assert_ne!(own, before);
        assert_eq!((&messages[0].trace_context, &messages[1].trace_context), (&own, &own));
        assert_eq!(messages[2].trace_context["traceparent"], other);
    });
}
