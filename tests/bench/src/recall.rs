use std::time::Instant;

use futures::future::try_join_all;
use hindsight_ports::{Arm, Encoding, Purpose, Search};
use hindsight_proto::{common::v1 as common, recall::v1::RecallRequest};
use hindsight_types::{MemoryKind, Viewer};

use crate::{
    baseline, data,
    report::{Report, Times},
    system::System,
};

/// Everything the runs left, so that the size is that of what is searched.
const KINDS: [MemoryKind; 4] =
    [MemoryKind::Experience, MemoryKind::Lesson, MemoryKind::FailurePattern, MemoryKind::Step];
const KINDS_ON_THE_WIRE: [common::MemoryKind; 4] = [
    common::MemoryKind::Experience,
    common::MemoryKind::Lesson,
    common::MemoryKind::FailurePattern,
    common::MemoryKind::Step,
];
/// As many as a recall asks for.
const CANDIDATES: usize = 50;
/// Queries before the clock runs.
const WARM_UP: u64 = 20;

#[derive(Default)]
struct Measured {
    engine: Times,
    store: Times,
    recall: Times,
    answered: u64,
}

/// Asks the same queries of the engine, the store and the recall service, in turn, so that all three see the
/// same noise of the machine.
pub(crate) async fn measure(
    system: &System,
    queries: u64,
    size: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut measured = Measured::default();
    for index in 0..WARM_UP + queries {
        if index == WARM_UP {
            measured = Measured::default();
        }
        ask(system, data::query(index), &mut measured).await?;
    }
    for percent in [50, 99] {
        let name = |what: &str| format!("{what} at {size} memories, p{percent}");
        let engine = name("bare engine");
        report.add(engine.clone(), measured.engine.percentile(percent), "ms");
        report.add_beside(name("store search"), measured.store.percentile(percent), "ms", &engine);
        report.add_beside(name("recall"), measured.recall.percentile(percent), "ms", &engine);
    }
    let share = 100.0 * measured.answered as f64 / queries.max(1) as f64;
    report.add(format!("recalls at {size} memories that brought something"), share, "%");
    Ok(())
}

async fn ask(system: &System, query: String, measured: &mut Measured) -> anyhow::Result<()> {
    let encoding = encode(system, &query).await?;
    let started = Instant::now();
    try_join_all(baseline::COLLECTIONS.map(|name| baseline::query(system, name, "tenant", &encoding)))
        .await?;
    measured.engine.push(started.elapsed());

    let viewer = Viewer::of_tenant(system.tenant.clone());
    let started = Instant::now();
    let arms = [Arm::Dense(encoding.dense), Arm::Bm25(encoding.sparse)];
    try_join_all(KINDS.iter().flat_map(|kind| arms.iter().map(move |arm| (*kind, arm))).map(
        |(kind, arm)| {
            let search = Search { kind, arm: arm.clone(), limit: CANDIDATES, action_name: None, ids: None };
            let viewer = &viewer;
            async move { system.store.search(viewer, &search).await }
        },
    ))
    .await?;
    measured.store.push(started.elapsed());

    let started = Instant::now();
    let kinds = KINDS_ON_THE_WIRE.map(i32::from).into();
    let answer = system.client.recall(RecallRequest { query, kinds, ..RecallRequest::default() }).await?;
    measured.recall.push(started.elapsed());
    anyhow::ensure!(!answer.degraded, "a recall missed its deadline: {:?}", answer.arms);
    measured.answered += u64::from(!answer.items.is_empty());
    Ok(())
}

async fn encode(system: &System, query: &str) -> anyhow::Result<Encoding> {
    let mut vectors = system.embedder.embed(&[query.to_owned()], Purpose::Query).await?;
    Ok(baseline::encoding(query, vectors.pop().unwrap_or_default()))
}
