//! The suite that every vector backend passes, over the wire.
#![allow(clippy::unwrap_used)]

mod common;

use hindsight_store::testkit::backend;
use hindsight_store_qdrant::CollectionLayout;

macro_rules! case {
    ($name:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let target = common::target(CollectionLayout::default()).await;
            backend::$name(target.backend.clone()).await;
        }
    };
}

hindsight_store::for_each_backend_case!(case);
