//! The memories that are compared, behind one interface.

use std::path::Path;

use hindsight_types::Timestamp;

use super::{product::Product, watched::Watched};
use crate::submit::Proof;
use crate::world::{
    advice::{self, Advice},
    agent::{self, Run},
    logs::{Logs, log_of},
    task::Task,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Every task is the first one.
    None,
    /// The three logs of former runs whose words fit best (BM25).
    Logs,
    /// Hindsight, with every lesson served as soon as it is learned.
    Ungated,
    Hindsight,
    /// Hindsight, told of each call on a stream: it speaks before calls and after failures, too.
    Watched,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::None, Self::Logs, Self::Ungated, Self::Hindsight, Self::Watched];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "no memory",
            Self::Logs => "raw logs",
            Self::Ungated => "Hindsight, no gates",
            Self::Hindsight => "Hindsight",
            Self::Watched => "Hindsight, watching",
        }
    }
}

/// What an agent gets before it begins, and who speaks up while it works.
#[derive(Default)]
pub(crate) struct Recalled {
    advice: Vec<Advice>,
    receipt: Option<String>,
    watched: Option<Watched>,
}

impl Recalled {
    /// A run, with the receipts of what shaped it.
    pub(crate) fn work(self, task: &Task) -> anyhow::Result<(Run, Vec<String>)> {
        let Some(mut watched) = self.watched else {
            return Ok((agent::work(task, &self.advice), self.receipt.into_iter().collect()));
        };
        let run = agent::work_beside(task, &self.advice, &mut watched);
        Ok((run, watched.close()?))
    }
}

pub(crate) enum Memory {
    None,
    Logs(Logs),
    Product(Box<Product>),
    Watching(Box<Product>),
}

impl Memory {
    pub(crate) async fn open(kind: Kind, dir: Option<&Path>, now: Timestamp) -> anyhow::Result<Self> {
        Ok(match kind {
            Kind::None => Self::None,
            Kind::Logs => Self::Logs(Logs::default()),
            Kind::Ungated => Self::Product(Box::new(Product::open(dir, now, false).await?)),
            Kind::Hindsight => Self::Product(Box::new(Product::open(dir, now, true).await?)),
            Kind::Watched => Self::Watching(Box::new(Product::open(dir, now, true).await?)),
        })
    }

    /// Asks with the words of the report, in the environment of the task.
    pub(crate) async fn recall(&mut self, task: &Task) -> anyhow::Result<Recalled> {
        let (practice, place) = (task.fault.practice(), task.fault.place.tag());
        match self {
            Self::None => Ok(Recalled::default()),
            Self::Logs(logs) => {
                let found = logs.search(&format!("{} {place}", task.report));
                let advice = found.iter().map(|log| advice::of_log(log, practice, place)).collect();
                Ok(Recalled { advice, ..Recalled::default() })
            }
            Self::Product(product) => {
                let (block, receipt) = product.recall(task).await?;
                let advice = advice::of_block(&block, practice);
                Ok(Recalled { advice, receipt: Some(receipt), watched: None })
            }
            Self::Watching(product) => {
                let (watched, advice) = product.watch(task).await?;
                Ok(Recalled { advice, receipt: None, watched: Some(watched) })
            }
        }
    }

    /// Keeps a run, and returns when the next recall can find it.
    pub(crate) async fn keep(
        &mut self,
        task: &Task,
        run: &Run,
        receipts: Vec<String>,
        proof: Proof,
    ) -> anyhow::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Logs(logs) => {
                logs.add(log_of(task, run));
                Ok(())
            }
            Self::Product(product) | Self::Watching(product) => {
                product.keep(task, run, receipts, proof).await
            }
        }
    }

    pub(crate) async fn close(self) {
        if let Self::Product(product) | Self::Watching(product) = self {
            product.close().await;
        }
    }
}
