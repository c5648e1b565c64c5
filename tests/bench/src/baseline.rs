//! The parts below, alone: what could at best be reached.

use std::{path::Path, time::Instant};

use futures::future::{try_join, try_join_all};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{Bus, Encoding, Envelope, Queue};
use hindsight_store::VectorBackend as _;
use hindsight_text::bm25;
use hindsight_types::{TenantId, Timestamp};
use prost::Message as _;
use qdrant_client::qdrant::{
    Condition, Filter, Query, QueryPoints, SparseVector, VectorInput, query, vector_input,
};
use uuid::Uuid;

use crate::{data, system::System};

/// Events in one publish, as many as the collector takes at most.
const BATCH: usize = 256;
/// Candidates per arm, as many as a recall asks for.
const CANDIDATES: u64 = 50;
/// The collections that [`crate::recall`] asks for.
pub(crate) const COLLECTIONS: [&str; 4] = ["trajectories", "lessons", "failure_patterns", "steps"];

/// Events per second that the bus takes when nothing else is done with them.
pub(crate) async fn bus(dir: &Path, runs: u64, streams: u64) -> anyhow::Result<f64> {
    let bus = LocalBus::open(&dir.join("baseline.db"), LocalBusOptions::default())?;
    let tenant = TenantId::new("baseline")?;
    let envelopes: Vec<Envelope> =
        (0..runs).flat_map(data::events).map(|event| envelope(&tenant, event.encode_to_vec())).collect();
    let total = envelopes.len() as f64;
    let share = envelopes.len().div_ceil(usize::try_from(streams)?).max(1);
    let started = Instant::now();
    try_join_all(envelopes.chunks(share).map(async |mine| {
        for batch in mine.chunks(BATCH) {
            bus.publish(Queue::Ingest, batch.to_vec()).await?;
        }
        Ok::<_, anyhow::Error>(())
    }))
    .await?;
    Ok(total / started.elapsed().as_secs_f64())
}

fn envelope(tenant: &TenantId, payload: Vec<u8>) -> Envelope {
    Envelope {
        id: Uuid::new_v4(),
        schema: "hindsight.event.v1.EventRecorded".to_owned(),
        tenant: tenant.clone(),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: Default::default(),
        payload,
    }
}

/// A question as the engine is asked.
pub(crate) fn encoding(query: &str, dense: Vec<f32>) -> Encoding {
    let (indices, values) = bm25::encode_query(query);
    Encoding { dense, sparse: hindsight_ports::SparseVector { indices, values } }
}

/// The nearest points of one collection by meaning and by words, filtered as a recall filters; ids only.
pub(crate) async fn query(
    system: &System,
    collection: &str,
    visibility: &str,
    encoding: &Encoding,
) -> anyhow::Result<usize> {
    let dense = vector_input::Variant::Dense(encoding.dense.clone().into());
    let sparse = vector_input::Variant::Sparse(SparseVector {
        values: encoding.sparse.values.clone(),
        indices: encoding.sparse.indices.clone(),
    });
    let ask = |using: &str, variant| {
        system.backend.query(nearest(collection, using, variant, &system.tenant, visibility))
    };
    let (by_meaning, by_words) = try_join(ask("dense", dense), ask("bm25", sparse)).await?;
    Ok(by_meaning.len() + by_words.len())
}

fn nearest(
    collection: &str,
    using: &str,
    variant: vector_input::Variant,
    tenant: &TenantId,
    visibility: &str,
) -> QueryPoints {
    let input = VectorInput { variant: Some(variant) };
    QueryPoints {
        collection_name: collection.to_owned(),
        query: Some(Query { variant: Some(query::Variant::Nearest(input)) }),
        using: Some(using.to_owned()),
        filter: Some(Filter::must([
            Condition::matches("tenant", tenant.to_string()),
            Condition::matches("visibility", vec![visibility.to_owned()]),
        ])),
        limit: Some(CANDIDATES),
        ..Default::default()
    }
}
