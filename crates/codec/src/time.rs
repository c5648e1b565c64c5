use hindsight_types::{Invalid, Timestamp};
use prost_types::Timestamp as Proto;

pub fn time_to_proto(t: Timestamp) -> Proto {
    // jiff keeps seconds and nanoseconds of one sign; protobuf wants nanoseconds that count forward.
    let (s, n) = (t.as_second(), t.subsec_nanosecond());
    if n < 0 { Proto { seconds: s - 1, nanos: n + 1_000_000_000 } } else { Proto { seconds: s, nanos: n } }
}

/// A time that must be there.
pub fn time_from_proto(field: &str, t: Option<Proto>) -> Result<Timestamp, Invalid> {
    optional_time_from_proto(field, t)?.ok_or_else(|| Invalid::new(field, "is required"))
}

pub fn optional_time_from_proto(field: &str, t: Option<Proto>) -> Result<Option<Timestamp>, Invalid> {
    let Some(t) = t else { return Ok(None) };
    if !(0..1_000_000_000).contains(&t.nanos) {
        return Err(Invalid::new(field, "nanos must be from 0 to 999999999"));
    }
    Timestamp::new(t.seconds, t.nanos)
        .map(Some)
        .map_err(|e| Invalid::new(field, format!("is not a valid time: {e}")))
}

/// A time that has a default.
pub fn time_or(field: &str, t: Option<Proto>, default: Timestamp) -> Result<Timestamp, Invalid> {
    Ok(optional_time_from_proto(field, t)?.unwrap_or(default))
}
