//! How long one recall takes, beside the engine alone.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hindsight_ports::Purpose;
use hindsight_proto::{common::v1::MemoryKind, recall::v1::RecallRequest};

use super::Args;
use crate::{
    baseline, data, memories,
    report::{Report, Times},
    system::System,
};

/// For whom is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The facts of one user among all.
    OneUser,
    /// The runs that everybody may see.
    Everybody,
}

pub(crate) const WHO: [Who; 2] = [Who::OneUser, Who::Everybody];

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::OneUser => "one user's facts",
            Self::Everybody => "everybody's runs",
        }
    }

    pub(crate) fn collection(self) -> &'static str {
        match self {
            Self::OneUser => "facts",
            Self::Everybody => "trajectories",
        }
    }

    fn visibility(self) -> String {
        match self {
            Self::OneUser => format!("user:{}", memories::user(0)),
            Self::Everybody => "tenant".to_owned(),
        }
    }

    /// Question number `index`.
    pub(crate) fn request(self, index: u64) -> RecallRequest {
        match self {
            Self::OneUser => RecallRequest {
                query: memories::question(index),
                user: memories::user(0),
                kinds: vec![MemoryKind::Fact as i32],
                ..RecallRequest::default()
            },
            Self::Everybody => RecallRequest {
                query: data::query(index),
                kinds: vec![MemoryKind::Experience as i32],
                ..RecallRequest::default()
            },
        }
    }
}

/// Share of the questions that are asked while nothing is warm.
const FIRST: u64 = 10;

pub(crate) async fn measure(
    system: &System,
    who: Who,
    args: &Args,
    size: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let first = (args.queries / FIRST).max(1);
    for (name, questions) in [("cold", 0..first), ("warm", first..first + args.queries)] {
        let mut measured = Measured::default();
        for index in questions {
            measured.ask(system, who, index).await?;
        }
        measured.report(&format!("{size} memories, {}, {name}", who.name()), report);
    }
    Ok(())
}

#[derive(Default)]
struct Measured {
    embedding: Times,
    engine: Times,
    recall: Times,
    answered: u64,
    asked: u64,
}

impl Measured {
    /// The same question to the recall service, the embedder and the engine. The service is asked first, so that
    /// nothing is warmed for it; all three take turns, so that they see the same noise of the machine.
    async fn ask(&mut self, system: &System, who: Who, index: u64) -> anyhow::Result<()> {
        let request = who.request(index);
        let query = request.query.clone();
        let recall = timed(&mut self.recall, system.client.recall(request)).await?;
        anyhow::ensure!(!recall.degraded, "a recall missed its deadline: {:?}", recall.arms);
        self.asked += 1;
        self.answered += u64::from(!recall.items.is_empty());

        let embedded = system.embedder.embed(std::slice::from_ref(&query), Purpose::Query);
        let dense = timed(&mut self.embedding, embedded).await?.pop().unwrap_or_default();
        let encoding = baseline::encoding(&query, dense);
        let visibility = who.visibility();
        let bare = [who.collection()].map(|c| baseline::query(system, c, &visibility, &encoding));
        timed(&mut self.engine, try_join_all(bare)).await?;
        Ok(())
    }

    fn report(&self, what: &str, report: &mut Report) {
        let without_embedding =
            |percent| (self.recall.percentile(percent) - self.embedding.percentile(50)).max(0.0);
        report.add(format!("{what}: embedding, p50"), self.embedding.percentile(50), "ms");
        for percent in [50, 95, 99] {
            let engine = format!("{what}: bare engine, p{percent}");
            report.add(engine.clone(), self.engine.percentile(percent), "ms");
            let recall = format!("{what}: recall without embedding, p{percent}");
            report.add_beside(recall, without_embedding(percent), "ms", &engine);
        }
        let share = 100.0 * self.answered as f64 / self.asked.max(1) as f64;
        report.add(format!("{what}: recalls that brought something"), share, "%");
    }
}

async fn timed<T, E>(times: &mut Times, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let started = Instant::now();
    let result = work.await;
    let elapsed: Duration = started.elapsed();
    times.push(elapsed);
    result
}
