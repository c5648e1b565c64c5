//! A server that is away, comes back, is slow, is too old or wants another key, as `store-qdrant` sees it.
#![allow(clippy::unwrap_used)]

mod common;

use std::{net::TcpListener, time::Duration};

use common::*;
use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;
use hindsight_store_qdrant::QdrantOptions;
use qdrant_client::qdrant::{Condition, Filter, UpdateMode, UpsertPoints};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_a_kill_and_calls_find_the_server_again() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Process::start(data.path(), &[]);
    let backend = backend(options(server.url()));
    create(&backend).await.unwrap();
    let mut written = 0;
    for round in 0..3 {
        for _ in 0..20 {
            backend.upsert(upsert(written)).await.unwrap();
            written += 1;
        }
        let address = server.address;
        drop(server);
        let limit = Duration::from_secs(10);
        unavailable(within(limit, count(&backend)).await);
        unavailable(within(limit, backend.ready()).await);
        server = Process::start_again(data.path(), address);
        eventually(|| backend.ready()).await;
        assert_eq!(count(&backend).await.unwrap(), written, "round {round}");
    }
}

/// Calls in flight when the server dies: each is acknowledged or fails, none hangs, and none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_under_load_loses_nothing_acknowledged() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &[]);
    let backend = std::sync::Arc::new(backend(options(server.url())));
    create(&backend).await.unwrap();
    let writers: Vec<_> = (0..4u64)
        .map(|writer| {
            let backend = backend.clone();
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                for n in 0.. {
                    let id = writer * 1_000_000 + n;
                    match backend.upsert(upsert(id)).await {
                        Ok(()) => acknowledged.push(id),
                        Err(error) => {
                            assert!(error.is_transient(), "{error}");
                            return acknowledged;
                        }
                    }
                }
                acknowledged
            })
        })
        .collect();
    eventually(|| async {
        match count(&backend).await {
            Ok(n) if n < 40 => Err(StoreError::Unavailable(format!("{n} written"))),
            other => other,
        }
    })
    .await;
    let address = server.address;
    drop(server);
    let mut acknowledged = 0;
    for writer in writers {
        acknowledged += within(Duration::from_secs(10), writer).await.unwrap().len() as u64;
    }
    let _server = Process::start_again(data.path(), address);
    let there = eventually(|| count(&backend)).await;
    assert!(there >= acknowledged, "{there} of {acknowledged} are there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_come_later() {
    let data = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let backend = backend(options(format!("http://{address}")));
    let why = unavailable(backend.ready().await);
    assert!(why.contains(&address.to_string()), "names the server: {why}");
    unavailable(backend.upsert(upsert(1)).await);
    let _server = Process::start_again(data.path(), address);
    eventually(|| create(&backend)).await;
    backend.upsert(upsert(1)).await.unwrap();
}

/// Nothing of a write on a condition is left half done by an outage.
#[tokio::test(flavor = "multi_thread")]
async fn a_conditional_write_finds_the_server_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &[]);
    let address = server.address;
    let backend = backend(options(server.url()));
    create(&backend).await.unwrap();
    drop(server);
    let never = Filter::must([Condition::matches("v", 1)]);
    let conditional = UpsertPoints { update_filter: Some(never), ..upsert(7) };
    unavailable(backend.upsert(conditional.clone()).await);
    let _server = Process::start_again(data.path(), address);
    eventually(|| backend.upsert(conditional.clone())).await;
    assert_eq!(count(&backend).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_is_given_up_in_time() {
    let data = tempfile::tempdir().unwrap();
    let slow = Process::start(data.path(), &["--delay", "10min"]);
    let limit = Duration::from_millis(300);
    let backend = backend(QdrantOptions { timeout: limit, ..options(slow.url()) });
    let why = unavailable(within(limit, count(&backend)).await);
    assert!(why.contains("no answer within 300ms") || why.contains("imeout"), "{why}");
    unavailable(within(limit, backend.upsert(upsert(1))).await);
    unavailable(within(limit, backend.ready()).await);
}

/// A server that accepts connections and says nothing, as one behind a broken network does.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_given_up_in_time_by_all_who_wait() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let limit = Duration::from_millis(300);
    let url = format!("http://{}", silent.local_addr().unwrap());
    let backend = std::sync::Arc::new(backend(QdrantOptions { timeout: limit, ..options(url) }));
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let backend = backend.clone();
            tokio::spawn(async move { count(&backend).await })
        })
        .collect();
    for one in waiting {
        unavailable(within(limit, one).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_within_the_limit_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let slow = Process::start(data.path(), &["--delay", "20ms"]);
    let backend = backend(options(slow.url()));
    create(&backend).await.unwrap();
    backend.upsert(upsert(1)).await.unwrap();
    assert_eq!(count(&backend).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_named_and_the_right_one_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &["--api-key", "right"]);
    for key in [None, Some("wrong")] {
        let api_key = key.map(|key| key.to_owned().into());
        let backend = backend(QdrantOptions { api_key, ..options(server.url()) });
        for why in [unavailable(backend.ready().await), unavailable(count(&backend).await)] {
            assert!(why.contains("API key") && !why.contains("wrong"), "{why}");
        }
    }
    let backend =
        backend(QdrantOptions { api_key: Some("right".to_owned().into()), ..options(server.url()) });
    backend.ready().await.unwrap();
    create(&backend).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ignores_conditions_gets_no_write_at_all() {
    let data = tempfile::tempdir().unwrap();
    let old = Process::start(data.path(), &["--qdrant-version", "1.15.5"]);
    let old_backend = backend(options(old.url()));
    let results =
        [old_backend.ready().await, create(&old_backend).await, old_backend.upsert(upsert(1)).await];
    for why in results.map(unavailable) {
        assert!(why.contains("1.15.5") && why.contains("1.16"), "{why}");
    }
    // Once it is upgraded, the same backend goes on.
    let address = old.address;
    drop(old);
    let _new = Process::start_again(data.path(), address);
    eventually(|| create(&old_backend)).await;
    assert_eq!(count(&old_backend).await.unwrap(), 0);
}

/// Another server on the same address is another server.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_server_that_takes_the_place_is_noticed() {
    let data = tempfile::tempdir().unwrap();
    let new = Process::start(data.path(), &[]);
    let backend = backend(options(new.url()));
    create(&backend).await.unwrap();
    let address = new.address.to_string();
    drop(new);
    unavailable(backend.upsert(upsert(1)).await);
    let _old = Process::start(data.path(), &["--listen", &address, "--qdrant-version", "1.12.0"]);
    let mut why = unavailable(backend.upsert(upsert(1)).await);
    for _ in 0..200 {
        if why.contains("1.12.0") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        why = unavailable(backend.upsert(upsert(1)).await);
    }
    panic!("never noticed: {why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn update_modes_need_a_server_that_knows_them() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &["--qdrant-version", "1.16.3"]);
    let backend = backend(options(server.url()));
    create(&backend).await.unwrap();
    let insert = UpsertPoints { update_mode: Some(UpdateMode::InsertOnly as i32), ..upsert(1) };
    match backend.upsert(insert).await {
        Err(StoreError::Rejected(why)) => {
            assert!(why.contains("update_mode") && why.contains("1.17"), "{why}")
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    assert_eq!(count(&backend).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_qdrant_server_is_told_apart() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in silent.incoming().map_while(Result::ok) {
            let _ = std::io::Write::write_all(&mut &stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let why = unavailable(backend(options(url)).ready().await);
    assert!(why.contains("gRPC port"), "{why}");
}
