//! The suite that every vector backend passes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use hindsight_store::{VectorBackend, testkit::backend};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};

macro_rules! case {
    ($name:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let dir = tempfile::tempdir().unwrap();
            let store = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
            backend::$name(Arc::clone(&store) as Arc<dyn VectorBackend>).await;
            store.close().await;
        }
    };
}

hindsight_store::for_each_backend_case!(case);
