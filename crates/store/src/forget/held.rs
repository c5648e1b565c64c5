//! Which probes stand in what is there, whoever it belongs to: others may have said the same.

use std::collections::BTreeSet;

use hindsight_ports::{Probes, StoreError};
use qdrant_client::qdrant::{RetrievedPoint, Value, value::Kind};

use super::texts;
use crate::{
    collection::Collection,
    scoped::{ScopedBackend, next_id},
};

const PAGE: usize = 64;
/// Between two texts, so that no probe is found across them.
const APART: [u8; 32] = [0; 32];

pub(super) async fn held(backend: &ScopedBackend, probes: &Probes) -> Result<BTreeSet<u64>, StoreError> {
    let mut held = BTreeSet::new();
    for collection in Collection::ALL {
        let mut from = None;
        loop {
            let page = backend.everything(collection, from, PAGE).await?;
            let bytes: Vec<u8> = page.points.iter().flat_map(bytes).collect();
            // A slice is always read to its end.
            held.extend(probes.scan(bytes.as_slice()).map(|(_, found)| found).unwrap_or_default());
            from = next_id(page.next)?;
            if from.is_none() || held.len() == probes.len() {
                break;
            }
        }
    }
    Ok(held)
}

/// All that is written down of a point: its fields, and the record as it is before base64.
fn bytes(point: &RetrievedPoint) -> Vec<u8> {
    let mut bytes = texts::bytes(point).unwrap_or_default();
    for value in point.payload.values() {
        add(value, &mut bytes);
    }
    bytes
}

fn add(value: &Value, bytes: &mut Vec<u8>) {
    match &value.kind {
        Some(Kind::StringValue(text)) => {
            bytes.extend(APART);
            bytes.extend(text.as_bytes());
        }
        Some(Kind::ListValue(list)) => list.values.iter().for_each(|value| add(value, bytes)),
        _ => {}
    }
}
