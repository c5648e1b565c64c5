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

conforms!(
    bus::delivers_in_order_and_forgets_what_is_acknowledged,
    bus::keeps_every_field,
    bus::gives_back_what_was_dropped,
    bus::what_a_consumer_never_took_is_not_an_attempt,
    bus::retries_after_the_delay_with_the_attempt_counted,
    bus::sets_dead_letters_aside_with_their_history,
    bus::shows_replays_and_discards_dead_letters,
    bus::replays_all_dead_letters,
    bus::one_candidate_leads_and_another_takes_over,
    bus::holds_no_more_than_prefetch,
    bus::shares_the_work_between_consumers,
    bus::settles_once,
    bus::waiting_is_cancel_safe,
    bus::queues_do_not_mix,
    bus::refuses_beyond_its_depth_until_it_is_consumed,
    bus_broadcast::tells_every_listener_in_order,
    bus_broadcast::keeps_every_field_of_what_is_told,
    bus_broadcast::what_is_told_is_kept_for_nobody,
    bus_broadcast::what_is_told_reaches_no_queue,
    bus_broadcast::a_listener_that_went_disturbs_nobody,
    bus_broadcast::listening_is_cancel_safe,
    bus_broadcast::a_slow_listener_learns_that_it_missed_something,
);
