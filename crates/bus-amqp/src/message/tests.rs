use hindsight_ports::{BusError, Envelope, Queue, bus::MAX_HISTORY, bus::MAX_REASON, bus::add_reason};
use hindsight_types::{TenantId, Timestamp};
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldTable},
};
use uuid::Uuid;

use super::{MAX_PAYLOAD, Past, dead_letter, decode, encode, published_at};

fn envelope() -> Envelope {
    Envelope {
        id: Uuid::from_u128(7),
        schema: "hindsight.event.v1.EventRecorded".into(),
        tenant: TenantId::new("租户-1").unwrap(),
        occurred_at: "2026-05-01T10:00:00.123456789Z".parse().unwrap(),
        trace_context: [("traceparent".into(), "00-1-2-01".into()), ("tracestate".into(), "供应商=1".into())]
            .into(),
        payload: (0..=255).collect(),
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut history = Vec::new();
    (0..30).for_each(|n| add_reason(&mut history, &format!("{n}: {}", "错".repeat(MAX_REASON))));
    assert_eq!(history.len(), MAX_HISTORY);
    let past = Past { attempts: 30, history, died_at: Some(now()) };
    let message = encode(&envelope(), &past, now()).unwrap();
    assert_eq!(decode(&message.properties, &message.payload).unwrap(), (envelope(), past));
    assert_eq!(published_at(&message.properties), Some(now()));
}

#[test]
fn what_no_broker_would_take_is_refused_with_its_field() {
    let refused = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = envelope();
        change(&mut envelope);
        match encode(&envelope, &Past::default(), now()) {
            Err(BusError::Rejected(why)) => why,
            other => panic!("taken: {other:?}"),
        }
    };
    assert!(refused(&|e| e.payload = vec![0; MAX_PAYLOAD + 1]).starts_with("payload"));
    assert!(refused(&|e| e.schema = "长".repeat(100)).starts_with("schema"));
    let long = |e: &mut Envelope| drop(e.trace_context.insert("tracestate".into(), "a".repeat(9_000)));
    assert!(refused(&long).starts_with("trace_context"));
}

#[test]
fn what_is_not_ours_is_named_and_shown() {
    let mut headers = FieldTable::default();
    headers.insert("hindsight-history".into(), AMQPValue::Boolean(true));
    headers.insert("hindsight-attempts".into(), AMQPValue::LongLongInt(-1));
    headers.insert("x-death".into(), AMQPValue::Void);
    headers.insert("odd".into(), AMQPValue::Double(1.0));
    let id = Uuid::from_u128(9).to_string();
    let half = BasicProperties::default().with_message_id(id.as_str().into()).with_headers(headers);
    for (properties, field) in [(BasicProperties::default(), "message_id"), (half, "type")] {
        assert!(decode(&properties, b"?").unwrap_err().contains(field));
        let letter = dead_letter(Queue::Ingest, &properties, b"?").unwrap();
        assert!(letter.reason.contains(field), "{}", letter.reason);
        assert_eq!((letter.envelope.payload, letter.attempts), (b"?".to_vec(), 1));
    }
}

#[test]
fn what_the_broker_set_aside_says_so() {
    let mut death = FieldTable::default();
    death.insert("reason".into(), AMQPValue::LongString("delivery_limit".into()));
    death.insert("time".into(), AMQPValue::Timestamp(1_800_000_000));
    let message = encode(&envelope(), &Past::default(), now()).unwrap();
    let mut headers = message.properties.headers().clone().unwrap();
    headers.insert("x-death".into(), AMQPValue::FieldArray(vec![AMQPValue::FieldTable(death)].into()));
    let letter =
        dead_letter(Queue::Evaluate, &message.properties.with_headers(headers), &message.payload).unwrap();
    assert_eq!((letter.envelope, letter.died_at), (envelope(), now()));
    assert!(letter.reason.contains("unsettled"), "{}", letter.reason);
}
