use std::sync::Arc;

use hindsight_bus_amqp::testkit::Broker;
use hindsight_ports::testkit::{bus, bus_broadcast};
use tokio::task::JoinSet;

/// All cases of the suite on one broker, each under a prefix of its own. One test: a broker takes long to start.
macro_rules! conforms {
    ($($suite:ident::$case:ident),+ $(,)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn conforms_to_the_suite() {
            let Some(broker) = Broker::start(None).unwrap() else { return };
            let mut failed = Vec::new();
            $({
                let mut case = JoinSet::new();
                let bus = Arc::new(crate::bus(&broker, stringify!($case)).await);
                case.spawn($suite::$case(bus));
                if let Some(Err(e)) = case.join_next().await {
                    eprintln!("{}: {e}", stringify!($case));
                    failed.push(stringify!($case));
                }
            })+
            assert!(failed.is_empty(), "{failed:?}");
        }
    };
}

hindsight_ports::bus_suite!(conforms);
