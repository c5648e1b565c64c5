use std::collections::HashMap;

use hindsight_types::Timestamp;
use qdrant_client::qdrant::{ListValue, Value, value::Kind};

/// Times beyond this are not exact in the engine's ranges, which are doubles: the year 2255.
const EXACT: i64 = 1 << 53;

/// A time as it is indexed.
pub(crate) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond().clamp(-EXACT, EXACT)
}

/// The fields of a payload that stand in the open. Empty ones are left out.
#[derive(Debug, Default)]
pub(crate) struct Fields(HashMap<String, Value>);

impl Fields {
    fn set(&mut self, field: &str, kind: Kind) {
        self.0.insert(field.to_owned(), Value { kind: Some(kind) });
    }

    pub(crate) fn text(&mut self, field: &str, value: &str) {
        if !value.is_empty() {
            self.set(field, Kind::StringValue(value.to_owned()));
        }
    }

    /// The text of an id, where there is one.
    pub(crate) fn id<T: ToString>(&mut self, field: &str, id: Option<&T>) {
        if let Some(id) = id {
            self.text(field, &id.to_string());
        }
    }

    pub(crate) fn texts(&mut self, field: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let values = values.iter().map(|v| Value { kind: Some(Kind::StringValue(v.clone())) }).collect();
        self.set(field, Kind::ListValue(ListValue { values }));
    }

    pub(crate) fn integer(&mut self, field: &str, value: i64) {
        self.set(field, Kind::IntegerValue(value));
    }

    pub(crate) fn time(&mut self, field: &str, value: Timestamp) {
        self.integer(field, micros(value));
    }

    pub(crate) fn flag(&mut self, field: &str, value: bool) {
        self.set(field, Kind::BoolValue(value));
    }

    pub(crate) fn into_payload(self) -> HashMap<String, Value> {
        self.0
    }
}
