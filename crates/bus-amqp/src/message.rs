//! How an envelope travels: identity and schema in the AMQP properties, the rest in headers. Headers that
//! are neither ours nor the broker's are the W3C trace context.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hindsight_ports::{BusError, DeadLetter, Envelope, Queue};
use hindsight_types::{TenantId, Timestamp};
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldArray, FieldTable, LongLongInt, ShortString},
};
use uuid::Uuid;

/// Most a broker takes by default since 4.0.
const MAX_PAYLOAD: usize = 16 * 1024 * 1024;
/// With the history it stays well below one frame, in which all headers must fit.
const MAX_TRACE_CONTEXT: usize = 8 * 1024;
const PERSISTENT: u8 = 2;

const OURS: &str = "hindsight-";
const TENANT: &str = "hindsight-tenant";
const OCCURRED_AT: &str = "hindsight-occurred-at";
const ATTEMPTS: &str = "hindsight-attempts";
const HISTORY: &str = "hindsight-history";
const DIED_AT: &str = "hindsight-died-at";
const X_DEATH: &str = "x-death";

/// What became of a message so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// Attempts that failed.
    pub(crate) attempts: u32,
    /// Their reasons, oldest first.
    pub(crate) history: Vec<String>,
    pub(crate) died_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) properties: BasicProperties,
    pub(crate) payload: Vec<u8>,
}

fn text(s: &str) -> AMQPValue {
    AMQPValue::LongString(s.into())
}

fn short(field: &str, s: &str) -> Result<ShortString, BusError> {
    ShortString::try_new(s)
        .map_err(|_| BusError::Rejected(format!("{field}: longer than 255 bytes; shorten it")))
}

pub(crate) fn encode(envelope: &Envelope, past: &Past, now: Timestamp) -> Result<Message, BusError> {
    if envelope.payload.len() > MAX_PAYLOAD {
        let size = envelope.payload.len();
        return Err(BusError::Rejected(format!("payload: {size} bytes, {MAX_PAYLOAD} are the most")));
    }
    let context: usize = envelope.trace_context.iter().map(|(k, v)| k.len() + v.len()).sum();
    if context > MAX_TRACE_CONTEXT {
        return Err(BusError::Rejected(format!(
            "trace_context: {context} bytes, {MAX_TRACE_CONTEXT} are the most"
        )));
    }
    let mut headers = FieldTable::default();
    for (key, value) in &envelope.trace_context {
        headers.insert(short("trace_context", key)?, text(value));
    }
    headers.insert(TENANT.into(), text(envelope.tenant.as_str()));
    headers.insert(OCCURRED_AT.into(), text(&envelope.occurred_at.to_string()));
    if past.attempts > 0 {
        headers.insert(ATTEMPTS.into(), AMQPValue::LongLongInt(past.attempts.into()));
    }
    if !past.history.is_empty() {
        let reasons: Vec<AMQPValue> = past.history.iter().map(|r| text(r)).collect();
        headers.insert(HISTORY.into(), AMQPValue::FieldArray(FieldArray::from(reasons)));
    }
    if let Some(at) = past.died_at {
        headers.insert(DIED_AT.into(), text(&at.to_string()));
    }
    let properties = BasicProperties::default()
        .with_message_id(envelope.id.to_string().as_str().into())
        .with_type(short("schema", &envelope.schema)?)
        .with_content_type("application/x-protobuf".into())
        .with_delivery_mode(PERSISTENT)
        .with_timestamp(u64::try_from(now.as_second()).unwrap_or_default())
        .with_headers(headers);
    Ok(Message { properties, payload: envelope.payload.clone() })
}

/// Names the field that is missing or wrong.
pub(crate) fn decode(properties: &BasicProperties, payload: &[u8]) -> Result<(Envelope, Past), String> {
    let headers = headers(properties);
    let id = properties.message_id().as_ref().and_then(|id| id.as_str().parse().ok());
    let tenant = string(headers.get(TENANT)).and_then(|t| TenantId::new(t).ok());
    let occurred_at = string(headers.get(OCCURRED_AT)).and_then(|t| t.parse::<Timestamp>().ok());
    let envelope = Envelope {
        id: id.ok_or("message_id is no UUID")?,
        schema: properties.kind().as_ref().ok_or("type is missing")?.to_string(),
        tenant: tenant.ok_or_else(|| format!("header {TENANT} is no tenant"))?,
        occurred_at: occurred_at.ok_or_else(|| format!("header {OCCURRED_AT} is no time"))?,
        trace_context: trace_context(&headers),
        payload: payload.to_vec(),
    };
    Ok((envelope, past(&headers)))
}

/// A dead letter as it is shown. One that is no message of ours is shown with what is known of it, so that
/// it can be found and discarded.
pub(crate) fn dead_letter(queue: Queue, properties: &BasicProperties, payload: &[u8]) -> Option<DeadLetter> {
    let headers = headers(properties);
    let (envelope, mut past, foreign) = match decode(properties, payload) {
        Ok((envelope, past)) => (envelope, past, None),
        Err(why) => {
            (nameless(properties, payload)?, past(&headers), Some(format!("no message of Hindsight: {why}")))
        }
    };
    let by_broker = past.died_at.is_none().then(|| broker_reason(&headers));
    if let Some(reason) = foreign.or(by_broker) {
        past.attempts += 1;
        past.history.push(reason);
    }
    Some(DeadLetter {
        envelope,
        queue,
        attempts: past.attempts,
        reason: past.history.last().cloned().unwrap_or_default(),
        history: past.history,
        died_at: past.died_at.unwrap_or_else(|| broker_death(&headers)),
    })
}

/// When it was published to the queue it comes from; whole seconds.
pub(crate) fn published_at(properties: &BasicProperties) -> Option<Timestamp> {
    let seconds = (*properties.timestamp())?;
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

type Headers<'a> = BTreeMap<&'a str, &'a AMQPValue>;

fn headers(properties: &BasicProperties) -> Headers<'_> {
    let table = properties.headers().as_ref();
    table.map(|t| t.inner().iter().map(|(k, v)| (k.as_str(), v)).collect()).unwrap_or_default()
}

fn string(value: Option<&&AMQPValue>) -> Option<String> {
    match value? {
        AMQPValue::LongString(s) => Some(s.to_string()),
        AMQPValue::ShortString(s) => Some(s.to_string()),
        _ => None,
    }
}

fn trace_context(headers: &Headers<'_>) -> BTreeMap<String, String> {
    let foreign = headers.iter().filter(|(key, _)| !key.starts_with(OURS) && !key.starts_with("x-"));
    foreign.filter_map(|(key, value)| Some(((*key).to_owned(), string(Some(value))?))).collect()
}

fn past(headers: &Headers<'_>) -> Past {
    let attempts = headers.get(ATTEMPTS).and_then(|v| v.as_long_long_int());
    let history = match headers.get(HISTORY) {
        Some(AMQPValue::FieldArray(reasons)) => {
            reasons.as_slice().iter().filter_map(|r| string(Some(&r))).collect()
        }
        _ => Vec::new(),
    };
    Past {
        attempts: attempts.and_then(|n: LongLongInt| u32::try_from(n).ok()).unwrap_or_default(),
        history,
        died_at: string(headers.get(DIED_AT)).and_then(|t| t.parse().ok()),
    }
}

fn nameless(properties: &BasicProperties, payload: &[u8]) -> Option<Envelope> {
    Some(Envelope {
        id: properties.message_id().as_ref().and_then(|id| id.as_str().parse().ok()).unwrap_or(Uuid::nil()),
        schema: properties.kind().as_ref().map(ToString::to_string).unwrap_or_default(),
        tenant: TenantId::new("unknown").ok()?,
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: trace_context(&headers(properties)),
        payload: payload.to_vec(),
    })
}

/// The broker's own account of why it set a message aside: the newest entry of `x-death`.
fn death<'a>(headers: &Headers<'a>, field: &str) -> Option<&'a AMQPValue> {
    let AMQPValue::FieldArray(deaths) = headers.get(X_DEATH)? else { return None };
    let AMQPValue::FieldTable(newest) = deaths.as_slice().first()? else { return None };
    newest.inner().get(field)
}

fn broker_reason(headers: &Headers<'_>) -> String {
    match string(death(headers, "reason").as_ref()).as_deref() {
        Some("delivery_limit") => "given back unsettled too often: do its workers die of it?".into(),
        Some(other) => format!("set aside by the broker: {other}"),
        None => "set aside by someone else".into(),
    }
}

fn broker_death(headers: &Headers<'_>) -> Timestamp {
    let seconds = match death(headers, "time") {
        Some(AMQPValue::Timestamp(seconds)) => i64::try_from(*seconds).ok(),
        _ => None,
    };
    seconds.and_then(|s| Timestamp::from_second(s).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}
