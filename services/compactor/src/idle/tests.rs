use std::sync::Mutex;

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{EmbedderId, testkit::samples};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::Timestamp;

use super::*;

struct Hands(Mutex<Timestamp>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// After an outage of the store, what arrives late is stored before anything is called idle.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_ended_while_events_wait() {
    let dir = tempfile::tempdir().unwrap();
    let clock: Arc<Hands> = Arc::new(Hands(Mutex::new(samples::time(0))));
    let options = LocalBusOptions { clock: clock.clone(), ..LocalBusOptions::default() };
    let bus = Arc::new(LocalBus::open(&dir.path().join("bus.db"), options).unwrap());
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Arc::new(Store::new(backend, StoreOptions::default()));
    store.prepare(&EmbedderId { model: "none".into(), dimension: 4 }).await.unwrap();
    let settings = CompactorSettings { idle_after: Duration::from_secs(100), ..CompactorSettings::default() };
    let idle = Idle { settings, bus: bus.clone(), store: store.clone(), clock: clock.clone() };

    let (tenant, trace) = (samples::tenant("acme"), samples::trace("left"));
    let scope = samples::shared(&tenant);
    let start = samples::started(&scope, &trace);
    let step = samples::step_event(&scope, &trace, 0);
    store.append_events(&[start]).await.unwrap();
    let touched_at = samples::time(0);
    store.mark_open(&[OpenTask { trace_id: trace, scope, touched_at }]).await.unwrap();
    bus.publish(Queue::Ingest, vec![envelope(&step)]).await.unwrap();
    *clock.0.lock().unwrap() = samples::time(120);
    assert_eq!(idle.look().await.unwrap(), Looked::default());

    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    consumer.next().await.unwrap().settle.ack().await.unwrap();
    assert_eq!(idle.look().await.unwrap(), Looked { ended: 1, cleared: 0 });
}
