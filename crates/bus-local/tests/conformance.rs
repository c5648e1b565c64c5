//! The bus suite, on the SQLite bus.

use std::sync::Arc;

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::testkit::{bus, bus_broadcast};

/// A fresh bus; the directory lives as long as the test.
macro_rules! conforms {
    ($($suite:ident::$case:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let dir = tempfile::tempdir().unwrap();
            let options = LocalBusOptions { max_depth: bus::MAX_DEPTH, ..Default::default() };
            let local = LocalBus::open(&dir.path().join("bus.sqlite"), options).unwrap();
            $suite::$case(Arc::new(local)).await;
        }
    )+};
}

hindsight_ports::bus_suite!(conforms);
