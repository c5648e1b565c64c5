//! A scroll shows every point that was there all the time, whatever is deleted beside it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use common::*;
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{
    DeletePoints, PointsIdsList, PointsSelector, ScrollPoints, points_selector::PointsSelectorOneOf,
};

const POINTS: u64 = 400;
/// Smaller than what is deleted at once, so that whole pages go.
const PAGE: u32 = 16;
/// Without the lock that it is about, 60 of them failed in 18 of 40 tries.
const WALKS: usize = 400;

async fn delete(store: &EdgeBackend, ids: impl IntoIterator<Item = u64>) {
    let ids = ids.into_iter().map(id).collect();
    let request = DeletePoints {
        collection_name: "events".to_owned(),
        points: Some(PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })),
        }),
        ..DeletePoints::default()
    };
    store.delete(request).await.unwrap();
}

/// All ids, page by page.
async fn walk(store: &EdgeBackend) -> BTreeSet<u64> {
    let (mut seen, mut offset) = (BTreeSet::new(), None);
    loop {
        let request = ScrollPoints {
            collection_name: "events".to_owned(),
            offset,
            limit: Some(PAGE),
            ..ScrollPoints::default()
        };
        let page = store.scroll(request).await.unwrap();
        seen.extend(page.points.iter().map(|point| number(&point.id)));
        match page.next {
            Some(next) => offset = Some(next),
            None => return seen,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_point_is_passed_over_while_others_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path(), 1_000_000));
    store.create_collection(collection("events")).await.unwrap();
    // Of each hundred the first half comes and goes, the second stays.
    let stays: BTreeSet<u64> = (0..POINTS).filter(|n| n % 100 >= 50).collect();
    upsert(&store, "events", stays.iter().map(|n| versioned(*n, 1)).collect()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (churned, stopped) = (Arc::clone(&store), Arc::clone(&stop));
    let churn = tokio::spawn(async move {
        let mut rounds = 0;
        while !stopped.load(Ordering::Acquire) {
            for hundred in (0..POINTS).step_by(100) {
                let come = || hundred..hundred + 50;
                upsert(&churned, "events", come().map(|n| versioned(n, 1)).collect()).await;
                delete(&churned, come()).await;
            }
            rounds += 1;
        }
        rounds
    });
    for _ in 0..WALKS {
        let seen = walk(&store).await;
        let missed: Vec<_> = stays.difference(&seen).collect();
        assert!(
            missed.is_empty(),
            "{} points that stay were not seen, from {:?} on",
            missed.len(),
            missed[0]
        );
    }
    stop.store(true, Ordering::Release);
    assert!(churn.await.unwrap() > 0, "nothing was deleted beside the walks");
}
