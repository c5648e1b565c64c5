use std::collections::HashMap;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{ListValue, Struct, Value, value::Kind};
use qdrant_edge::Payload;
use serde_json::{Map, Number, Value as Json};

use crate::refuse::rejected;

/// Values nested deeper than this are refused, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 64;

pub(crate) fn payload_to_engine(payload: HashMap<String, Value>) -> Result<Payload, StoreError> {
    Ok(Payload(map_to_json(payload, 0)?))
}

pub(crate) fn payload_from_engine(payload: Payload) -> HashMap<String, Value> {
    payload.0.into_iter().map(|(key, value)| (key, from_json(value))).collect()
}

fn map_to_json(fields: HashMap<String, Value>, depth: usize) -> Result<Map<String, Json>, StoreError> {
    fields
        .into_iter()
        .map(|(key, value)| {
            let value = to_json(&key, value, depth)?;
            Ok((key, value))
        })
        .collect()
}

fn to_json(key: &str, value: Value, depth: usize) -> Result<Json, StoreError> {
    if depth > MAX_DEPTH {
        return Err(rejected(
            &format!("payload.{key}"),
            format_args!("nested deeper than {MAX_DEPTH} levels"),
        ));
    }
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(flag)) => Json::Bool(flag),
        Some(Kind::IntegerValue(integer)) => Json::Number(integer.into()),
        Some(Kind::DoubleValue(double)) => Json::Number(
            Number::from_f64(double)
                .ok_or_else(|| rejected(&format!("payload.{key}"), "not a finite number"))?,
        ),
        Some(Kind::StringValue(text)) => Json::String(text),
        Some(Kind::ListValue(list)) => Json::Array(
            list.values.into_iter().map(|item| to_json(key, item, depth + 1)).collect::<Result<_, _>>()?,
        ),
        Some(Kind::StructValue(fields)) => Json::Object(map_to_json(fields.fields, depth + 1)?),
    })
}

fn from_json(value: Json) -> Value {
    let kind = match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(flag) => Kind::BoolValue(flag),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Kind::IntegerValue(integer),
            None => Kind::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Kind::StringValue(text),
        Json::Array(items) => {
            Kind::ListValue(ListValue { values: items.into_iter().map(from_json).collect() })
        }
        Json::Object(fields) => Kind::StructValue(Struct {
            fields: fields.into_iter().map(|(key, value)| (key, from_json(value))).collect(),
        }),
    };
    Value { kind: Some(kind) }
}
