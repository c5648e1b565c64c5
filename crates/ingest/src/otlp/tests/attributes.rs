//! What of a span is read, and what is passed over.

use hindsight_types::SpanRole;
use serde_json::{Value, json};

use super::super::{Refused, SpanStatus, from_json, read};
use super::{Attributes, span};

fn role(parent: u64, pairs: Value) -> Option<SpanRole> {
    read(&Attributes::new(), &span(7, parent, (0, 1), pairs)).unwrap().map(|t| t.span.role)
}

#[test]
fn what_tells_of_an_agent_is_known_by_its_convention() {
    let operation = |name: &str| role(1, json!({ "gen_ai.operation.name": name }));
    assert_eq!(operation("invoke_agent"), Some(SpanRole::Agent));
    assert_eq!(operation("invoke_workflow"), Some(SpanRole::Agent));
    assert_eq!(operation("chat"), Some(SpanRole::Model));
    assert_eq!(operation("generate_content"), Some(SpanRole::Model));
    assert_eq!(operation("execute_tool"), Some(SpanRole::Tool));
    assert_eq!(operation("retrieval"), Some(SpanRole::Tool));
    for passed_over in ["embeddings", "create_agent", "something new"] {
        assert_eq!(operation(passed_over), None, "{passed_over}");
    }
    let kind = |parent, kind: &str| role(parent, json!({ "openinference.span.kind": kind }));
    assert_eq!(kind(1, "AGENT"), Some(SpanRole::Agent));
    assert_eq!(kind(0, "CHAIN"), Some(SpanRole::Agent));
    assert_eq!(kind(1, "CHAIN"), None, "every function is one");
    assert_eq!(kind(1, "RETRIEVER"), Some(SpanRole::Tool));
    assert_eq!(kind(1, "EMBEDDING"), None);
    assert_eq!(role(1, json!({ "http.request.method": "GET" })), None);
    assert_eq!(role(0, json!({ "http.request.method": "GET" })), Some(SpanRole::Root));
    assert_eq!(role(1, json!({ "gen_ai.output.messages": "[]" })), Some(SpanRole::Model));
}

#[test]
fn what_cannot_be_a_span_or_its_users_is_refused() {
    let refused = |change: fn(&mut super::RawSpan)| {
        let mut raw = span(7, 1, (0, 1), json!({ "gen_ai.operation.name": "chat" }));
        change(&mut raw);
        read(&Attributes::new(), &raw).err()
    };
    assert_eq!(refused(|s| s.trace_id = "0".repeat(32)), Some(Refused::TraceId));
    assert_eq!(refused(|s| s.trace_id = "ab".to_owned()), Some(Refused::TraceId));
    assert_eq!(refused(|s| s.span_id = String::new()), Some(Refused::SpanId));
    assert_eq!(refused(|s| s.parent_span_id = "x".repeat(16)), Some(Refused::SpanId));
    let long = |s: &mut super::RawSpan| {
        s.attributes.insert("user.id".to_owned(), json!("u".repeat(200)));
    };
    assert!(matches!(refused(long), Some(Refused::User(_))), "else what is theirs would be everyone's");
    assert_eq!(refused(|s| s.trace_id = s.trace_id.to_uppercase()), None);
    assert_eq!(refused(|s| s.parent_span_id = "0".repeat(16)), None, "some send no parent as zeroes");
}

#[test]
fn json_is_read_as_protobuf_maps_it() {
    let text = json!({ "resourceSpans": [{
        "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "shop" } }] },
        "scopeSpans": [{ "scope": { "name": "x" }, "spans": [{
            "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "parentSpanId": null,
            "name": "chat", "kind": 3, "flags": 256, "unknownField": {},
            "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000_u64,
            "attributes": [
                { "key": "n", "value": { "intValue": "12" } }, { "key": "m", "value": { "intValue": 12 } },
                { "key": "f", "value": { "doubleValue": 0.5 } }, { "key": "b", "value": { "boolValue": true } },
                { "key": "l", "value": { "arrayValue": { "values": [{ "stringValue": "a" }, {}] } } },
                { "key": "e", "value": { "arrayValue": {} } },
                { "key": "o", "value": { "kvlistValue": { "values": [{ "key": "k", "value": { "intValue": 1 } }] } } },
                { "key": "nothing" }, { "key": "null", "value": null },
            ],
            "events": [{ "name": "exception", "timeUnixNano": "1" }],
            "status": { "code": "STATUS_CODE_ERROR", "message": "no" },
        }] }],
    }] });
    let read = from_json(text.to_string().as_bytes()).unwrap();
    let found = &read[0].spans[0];
    assert_eq!(read[0].attributes["service.name"], "shop");
    assert_eq!((found.parent_span_id.as_str(), found.status), ("", SpanStatus::Error));
    assert_eq!((found.start, found.end), (1_544_712_660_000_000_000, 1_544_712_661_000_000_000));
    let attributes = Value::Object(found.attributes.clone().into_iter().collect());
    assert_eq!(
        attributes,
        json!({ "n": 12, "m": 12, "f": 0.5, "b": true, "l": ["a", null], "e": [], "o": { "k": 1 }, "null": null })
    );
    assert!(super::read(&Attributes::new(), found).unwrap().is_some(), "a root");

    assert_eq!(from_json(b"{}").unwrap(), []);
    for bad in ["[]", "{\"resourceSpans\": 1}", "{\"resourceSpans\": [", "", "null"] {
        assert!(from_json(bad.as_bytes()).is_err(), "{bad}");
    }
    assert_eq!(from_json(json!({ "resourceSpans": [3, null, {}] }).to_string().as_bytes()).unwrap().len(), 3);
}
