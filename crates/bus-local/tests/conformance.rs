//! The bus suite, on the SQLite bus.

use std::sync::Arc;

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::testkit::bus;

/// A fresh bus; the directory lives as long as the test.
macro_rules! conforms {
    ($($case:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let dir = tempfile::tempdir().unwrap();
            let options = LocalBusOptions { max_depth: bus::MAX_DEPTH, ..Default::default() };
            let local = LocalBus::open(&dir.path().join("bus.sqlite"), options).unwrap();
            bus::$case(Arc::new(local)).await;
        }
    )+};
}

conforms!(
    delivers_in_order_and_forgets_what_is_acknowledged,
    keeps_every_field,
    gives_back_what_was_dropped,
    what_a_consumer_never_took_is_not_an_attempt,
    retries_after_the_delay_with_the_attempt_counted,
    sets_dead_letters_aside_with_their_history,
    shows_replays_and_discards_dead_letters,
    replays_all_dead_letters,
    one_candidate_leads_and_another_takes_over,
    holds_no_more_than_prefetch,
    shares_the_work_between_consumers,
    settles_once,
    waiting_is_cancel_safe,
    queues_do_not_mix,
    refuses_beyond_its_depth_until_it_is_consumed,
);
