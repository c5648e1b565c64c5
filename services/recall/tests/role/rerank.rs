//! A model that reads question and memory together: it orders what is left, and is dropped when it cannot.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{World, ask, experience};
use hindsight_ports::{EmbedError, Reranker};
use hindsight_proto::recall::v1::RecallResponse;
use rstest::rstest;

const TASK: &str = "the api container restarts in a loop";
const OTHER: &str = "the api container restarts in a loop after the night backup";

/// What the reranker does when it is asked.
#[derive(Clone, Copy)]
enum Does {
    /// Finds this near and everything else far.
    Prefer(&'static str),
    Fail,
    Hang,
    AnswerInPart,
}

#[tonic::async_trait]
impl Reranker for Does {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        assert_eq!(query, TASK);
        match self {
            Self::Prefer(what) => {
                Ok(texts.iter().map(|text| if text.contains(what) { 1.0 } else { 0.3 }).collect())
            }
            Self::Fail => Err(EmbedError::Unavailable("gone".to_owned())),
            Self::Hang => std::future::pending().await,
            Self::AnswerInPart => Ok(Vec::new()),
        }
    }
}

struct Counted {
    does: Does,
    calls: AtomicUsize,
}

#[tonic::async_trait]
impl Reranker for Counted {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.does.rerank(query, texts).await
    }
}

async fn recalled(does: Does) -> RecallResponse {
    let world = World::with_reranker(Arc::new(does)).await;
    world.remember(vec![experience("t-1", TASK), experience("t-2", OTHER)]).await;
    world.recall_within(ask(TASK), Duration::from_secs(5)).await.unwrap()
}

fn told(answer: &RecallResponse) -> Vec<(u32, &str)> {
    let of_it = answer.arms.iter().filter(|arm| arm.arm == "rerank");
    of_it.map(|arm| (arm.candidates, arm.dropped.as_str())).collect()
}

#[tokio::test]
async fn it_orders_what_is_left() {
    for (preferred, other) in [("night backup", "t-1"), ("in a loop\n", "t-2")] {
        let answer = recalled(Does::Prefer(preferred)).await;
        assert_eq!(told(&answer), [(2, "")], "{answer:?}");
        assert!(!answer.degraded);
        let first = answer.items[0].factors.unwrap().parts.unwrap();
        assert_eq!(first.rerank, Some(1.0), "{preferred}, not {other}: {answer:?}");
    }
}

#[rstest]
#[case::late(Does::Hang, "deadline near")]
#[case::failing(Does::Fail, "reranker unavailable")]
#[case::in_part(Does::AnswerInPart, "reranker answered in part")]
#[tokio::test]
async fn without_it_the_order_stays_and_it_is_named(#[case] does: Does, #[case] why: &str) {
    let answer = recalled(does).await;
    assert!(!answer.items.is_empty() && answer.degraded, "{answer:?}");
    assert_eq!(told(&answer), [(0, why)]);
    assert!(answer.items.iter().all(|item| item.factors.unwrap().parts.unwrap().rerank.is_none()));
}

#[rstest]
#[case::late(Does::Hang, 1)]
#[case::failing(Does::Fail, 1)]
#[case::in_part(Does::AnswerInPart, 2)]
#[case::well(Does::Prefer("night"), 2)]
#[tokio::test]
async fn one_that_is_away_costs_the_first_recall_only(#[case] does: Does, #[case] calls: usize) {
    let reranker = Arc::new(Counted { does, calls: AtomicUsize::new(0) });
    let world = World::with_reranker(reranker.clone()).await;
    world.remember(vec![experience("t-1", TASK)]).await;
    world.recall_within(ask(TASK), Duration::from_secs(5)).await.unwrap();
    let second = world.recall_within(ask(TASK), Duration::from_secs(5)).await.unwrap();
    assert_eq!(reranker.calls.load(Ordering::Relaxed), calls);
    assert!(!second.items.is_empty(), "{second:?}");
    if calls == 1 {
        assert!(second.degraded && told(&second) == [(0, "reranker unavailable")], "{second:?}");
    }
}
