use futures::future::join_all;
use qdrant_client::qdrant::{Filter, UpdateMode, UpsertPoints, Value, r#match::MatchValue, value::Kind};

use super::build::*;

fn version(n: i64) -> Filter {
    must([matches("version", MatchValue::Integer(n))])
}

#[allow(clippy::expect_used)]
pub async fn updates_only_what_the_condition_matches(backend: Backend) {
    let name = plain_collection(&backend, "condition").await;
    let at = |n: u64, v: i64, by: &str| point(n, [("version", int(v)), ("by", text(by))]);
    write(&backend, &name, vec![at(1, 1, "first"), at(2, 5, "first")]).await;
    let request = UpsertPoints {
        update_filter: Some(version(1)),
        ..upsert(&name, vec![at(1, 2, "二"), at(2, 2, "二"), at(3, 2, "二")])
    };
    backend.upsert(request).await.expect("not matching is no error");
    let by = |n: u64| {
        let (backend, name) = (backend.clone(), name.clone());
        async move { read_payload(&backend, &name, n).await.remove("by") }
    };
    assert_eq!(by(1).await, Some(text("二")), "matches: updated");
    assert_eq!(by(2).await, Some(text("first")), "does not match: left");
    assert_eq!(by(3).await, Some(text("二")), "new: inserted");
}

/// Writers that count one point up, each taking back what it read when another was faster. A writer that
/// saw its entry in the log and lost it later was overwritten by a write whose condition no longer held.
#[allow(clippy::expect_used)]
pub async fn lets_exactly_one_of_two_conditional_writers_win(backend: Backend) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 8;
    let name = plain_collection(&backend, "race").await;
    write(&backend, &name, vec![point(1, [("version", int(0)), ("log", list([]))])]).await;
    let writers = (0..WRITERS).map(|writer| {
        let (backend, name) = (backend.clone(), name.clone());
        async move {
            for round in 0..ROUNDS {
                let entry = text(&format!("writer {writer} round {round}"));
                loop {
                    let stored = read_payload(&backend, &name, 1).await;
                    let (n, mut log) = (integer(&stored["version"]), entries(&stored["log"]));
                    if log.contains(&entry) {
                        break;
                    }
                    log.push(entry.clone());
                    let next = point(1, [("version", int(n + 1)), ("log", list(log))]);
                    let request =
                        UpsertPoints { update_filter: Some(version(n)), ..upsert(&name, vec![next]) };
                    backend.upsert(request).await.expect("writes or not");
                }
            }
        }
    });
    join_all(writers).await;
    let stored = read_payload(&backend, &name, 1).await;
    assert_eq!(entries(&stored["log"]).len(), WRITERS * ROUNDS, "no win was lost: {stored:?}");
    assert_eq!(integer(&stored["version"]), (WRITERS * ROUNDS) as i64);
}

fn integer(value: &Value) -> i64 {
    match value.kind {
        Some(Kind::IntegerValue(n)) => n,
        _ => panic!("not an integer: {value:?}"),
    }
}

fn entries(value: &Value) -> Vec<Value> {
    match &value.kind {
        Some(Kind::ListValue(list)) => list.values.clone(),
        _ => panic!("not a list: {value:?}"),
    }
}

#[allow(clippy::expect_used)]
pub async fn inserts_only_or_updates_only_when_told(backend: Backend) {
    let name = plain_collection(&backend, "modes").await;
    write(&backend, &name, vec![point(1, [("by", text("first"))])]).await;
    let with_mode = |mode: UpdateMode, by: &str, n: u64| UpsertPoints {
        update_mode: Some(mode as i32),
        ..upsert(&name, vec![point(1, [("by", text(by))]), point(n, [("by", text(by))])])
    };
    backend.upsert(with_mode(UpdateMode::InsertOnly, "insert", 2)).await.expect("inserts");
    backend.upsert(with_mode(UpdateMode::UpdateOnly, "update", 3)).await.expect("updates");
    assert_eq!(read_payload(&backend, &name, 1).await, payload([("by", text("update"))]));
    assert_eq!(read_payload(&backend, &name, 2).await, payload([("by", text("insert"))]));
    assert_eq!(read(&backend, &name, vec![id(3)]).await, [], "update only does not insert");
}
