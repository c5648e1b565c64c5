//! The record as the payload of a point.

use std::collections::HashMap;

use hindsight_ports::{EmbedderId, StoreError};
use hindsight_types::Timestamp;
use qdrant_client::qdrant::{ListValue, Value, value::Kind};

use super::{Building, Named, Payload, State};
use crate::{collection::DENSE, fields::micros, point};

/// The form of what is stored. Raised when older builds could not read it any more.
const SCHEMA: i64 = 2;

pub(super) const REVISION: &str = "revision";
const VERSION: &str = "schema";
const GENERATION: &str = "generation";
const RETIRED: &str = "retired";
const SERVING: Keys = Keys { model: "model", dimension: "dimension", name: "vector" };
const BUILDING: Keys = Keys { model: "next_model", dimension: "next_dimension", name: "next_vector" };
const READY: &str = "next_ready";
const STARTED_AT: &str = "next_started_at";
const UPDATED_AT: &str = "next_updated_at";
const RESUMED_AT: &str = "next_resumed_at";
const RESUMED_DONE: &str = "next_resumed_done";
const TOTAL: &str = "next_total";
const DONE: &str = "next_done";
const SKIPPED: &str = "next_skipped";

/// Where a payload names vectors.
struct Keys {
    model: &'static str,
    dimension: &'static str,
    name: &'static str,
}

pub(super) fn encode(state: &State) -> Result<Payload, StoreError> {
    let mut payload = HashMap::from([
        (VERSION.to_owned(), SCHEMA.into()),
        (REVISION.to_owned(), state.revision.into()),
        (GENERATION.to_owned(), state.generation.into()),
    ]);
    put_named(&mut payload, &SERVING, &state.serving)?;
    let retired = state.retired.iter().map(|name| Value::from(name.as_str())).collect();
    let retired = Value { kind: Some(Kind::ListValue(ListValue { values: retired })) };
    payload.insert(RETIRED.to_owned(), retired);
    if let Some(building) = &state.building {
        put_named(&mut payload, &BUILDING, &building.named)?;
        payload.insert(READY.to_owned(), building.ready.into());
        let times = [
            (STARTED_AT, building.started_at),
            (UPDATED_AT, building.updated_at),
            (RESUMED_AT, building.resumed_at),
        ];
        payload.extend(times.map(|(key, time)| (key.to_owned(), micros(time).into())));
        let counts = [
            (RESUMED_DONE, building.resumed_done),
            (TOTAL, building.total),
            (DONE, building.done),
            (SKIPPED, building.skipped),
        ];
        payload.extend(counts.map(|(key, n)| (key.to_owned(), i64::try_from(n).unwrap_or(i64::MAX).into())));
    }
    Ok(payload)
}

fn put_named(payload: &mut Payload, keys: &Keys, named: &Named) -> Result<(), StoreError> {
    let Named { name, embedder } = named;
    let dimension = i64::try_from(embedder.dimension)
        .map_err(|_| StoreError::Rejected(format!("embedder {embedder}: too many dimensions")))?;
    payload.insert(keys.model.to_owned(), embedder.model.as_str().into());
    payload.insert(keys.dimension.to_owned(), dimension.into());
    payload.insert(keys.name.to_owned(), name.as_str().into());
    Ok(())
}

pub(super) fn decode(payload: &Payload) -> Result<State, StoreError> {
    let version = point::integer(payload, VERSION).unwrap_or(0);
    if version > SCHEMA {
        return Err(StoreError::Rejected(format!(
            "the store is of schema {version}, this build knows {SCHEMA}; run the newer version"
        )));
    }
    let lost = || StoreError::Corrupt("the record of which embedder serves cannot be read".to_owned());
    Ok(State {
        revision: point::integer(payload, REVISION).unwrap_or(0),
        generation: point::integer(payload, GENERATION).unwrap_or(1),
        serving: named(payload, &SERVING).ok_or_else(lost)?,
        building: match payload.contains_key(BUILDING.model) {
            true => Some(building(payload).ok_or_else(lost)?),
            false => None,
        },
        retired: texts(payload, RETIRED),
    })
}

fn named(payload: &Payload, keys: &Keys) -> Option<Named> {
    let model = point::text(payload, keys.model)?.to_owned();
    let dimension = point::integer(payload, keys.dimension)?.try_into().ok()?;
    // Schema 1 had one name only.
    let name = point::text(payload, keys.name).unwrap_or(DENSE).to_owned();
    Some(Named { name, embedder: EmbedderId { model, dimension } })
}

fn building(payload: &Payload) -> Option<Building> {
    let time = |key| Timestamp::from_microsecond(point::integer(payload, key)?).ok();
    let count = |key| u64::try_from(point::integer(payload, key)?).ok();
    Some(Building {
        named: named(payload, &BUILDING)?,
        ready: matches!(payload.get(READY)?.kind, Some(Kind::BoolValue(true))),
        started_at: time(STARTED_AT)?,
        updated_at: time(UPDATED_AT)?,
        resumed_at: time(RESUMED_AT)?,
        resumed_done: count(RESUMED_DONE)?,
        total: count(TOTAL)?,
        done: count(DONE)?,
        skipped: count(SKIPPED)?,
    })
}

fn texts(payload: &Payload, key: &str) -> Vec<String> {
    let Some(Value { kind: Some(Kind::ListValue(list)) }) = payload.get(key) else { return Vec::new() };
    let text = |value: &Value| match &value.kind {
        Some(Kind::StringValue(text)) => Some(text.clone()),
        _ => None,
    };
    list.values.iter().filter_map(text).collect()
}
