use std::time::{Duration, Instant};

use crate::{data, system::System};
use futures::future::try_join_all;
use hindsight_client::Client;

/// How long recording a number of runs took.
pub(crate) struct Recorded {
    pub(crate) events: u64,
    pub(crate) runs: u64,
    /// Until the last event was acknowledged.
    pub(crate) acknowledged: Duration,
    /// Until the last run was judged and stored.
    pub(crate) judged: Duration,
}

/// Records the runs over several streams at a time, as that many agents would, and waits for their judgement.
pub(crate) async fn record(
    system: &System,
    runs: std::ops::Range<u64>,
    streams: u64,
) -> anyhow::Result<Recorded> {
    let started = Instant::now();
    let count = runs.end - runs.start;
    let each = (0..streams).map(|stream| {
        let mine = (runs.start + stream..runs.end).step_by(usize::try_from(streams).unwrap_or(1));
        agent(system.client.clone(), mine.collect())
    });
    let events = try_join_all(each).await?.into_iter().sum();
    let acknowledged = started.elapsed();
    system.settled().await?;
    Ok(Recorded { events, runs: count, acknowledged, judged: started.elapsed() })
}

/// One stream; the number of events acknowledged on it.
async fn agent(client: Client, runs: Vec<u64>) -> anyhow::Result<u64> {
    let total: u64 = runs.iter().map(|run| data::events(*run).len() as u64).sum();
    let events = runs.into_iter().flat_map(data::events).zip(1..).map(|(mut event, sequence)| {
        event.sequence = sequence;
        event
    });
    let mut answers = client.collector().record_events(futures::stream::iter(events)).await?.into_inner();
    let mut acknowledged = 0;
    while let Some(answer) = answers.message().await? {
        anyhow::ensure!(answer.rejections.is_empty(), "refused: {:?}", answer.rejections);
        acknowledged = answer.acknowledged_sequence;
    }
    anyhow::ensure!(acknowledged == total, "{acknowledged} of {total} events acknowledged");
    Ok(acknowledged)
}
