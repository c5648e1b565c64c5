use std::sync::Arc;

use hindsight_bus_amqp::testkit::Broker;
use hindsight_ports::testkit::bus;
use tokio::task::JoinSet;

/// All cases of the suite on one broker, each under a prefix of its own. One test: a broker takes long to start.
macro_rules! conforms {
    ($($case:ident),+ $(,)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn conforms_to_the_suite() {
            let Some(broker) = Broker::start(None).unwrap() else { return };
            let mut failed = Vec::new();
            $({
                let mut case = JoinSet::new();
                let bus = Arc::new(crate::bus(&broker, stringify!($case)).await);
                case.spawn(bus::$case(bus));
                if let Some(Err(e)) = case.join_next().await {
                    eprintln!("{}: {e}", stringify!($case));
                    failed.push(stringify!($case));
                }
            })+
            assert!(failed.is_empty(), "{failed:?}");
        }
    };
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
