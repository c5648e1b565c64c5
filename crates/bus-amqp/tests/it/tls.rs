use std::{path::Path, process::Command};

use hindsight_bus_amqp::{
    AmqpBus, AmqpOptions,
    testkit::{Broker, Certificates},
};
use hindsight_ports::{
    Bus, BusError, Queue,
    testkit::bus::{envelope, next},
};

use crate::{options, until, until_ready};

fn openssl(dir: &Path, line: &str) {
    let made = Command::new("openssl").args(line.split(' ')).current_dir(dir).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// An authority of our own and a certificate of it for `localhost`.
fn certificates(dir: &Path) -> Certificates {
    let key = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(dir, &format!("{key} -x509 -days 2 -subj /CN=authority -keyout ca.key -out ca.pem"));
    openssl(dir, &format!("{key} -subj /CN=localhost -keyout broker.key -out broker.csr"));
    std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        dir,
        "x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out broker.pem",
    );
    let [authority, certificate, key] = ["ca.pem", "broker.pem", "broker.key"].map(|name| dir.join(name));
    Certificates { authority, certificate, key }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn speaks_tls_with_an_authority_of_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    let certificates = certificates(dir.path());
    let Some(broker) = Broker::start(Some(&certificates)).unwrap() else { return };
    let secure = AmqpOptions {
        ca_file: Some(certificates.authority),
        url: broker.tls_url().into(),
        ..options(&broker, "tls")
    };
    let bus = AmqpBus::start(secure.clone()).unwrap();
    until_ready(&bus).await;
    bus.publish(Queue::Ingest, vec![envelope(1)]).await.unwrap();
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    assert_eq!(next(&mut consumer).await.envelope, envelope(1));

    let unknown = AmqpBus::start(AmqpOptions { ca_file: None, ..secure }).unwrap();
    let told = async || {
        let text = unknown.ready().err().map(|e: BusError| e.to_string().to_lowercase());
        text.is_some_and(|t| t.contains("certificate") || t.contains("issuer"))
    };
    until("an unknown authority is refused, and it is said", told).await;
}
