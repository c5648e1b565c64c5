//! A process killed in the middle of writing, flushing and indexing loses nothing it acknowledged.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use common::*;
use hindsight_store::VectorBackend;
use qdrant_client::qdrant::{
    DeletePoints, PointsIdsList, PointsSelector, SetPayloadPoints, points_selector::PointsSelectorOneOf,
};

const DIR: &str = "HINDSIGHT_KILL_TEST_DIR";
const ROUNDS: usize = 12;
const POINTS: u64 = 600;

/// Runs only as a child of the test below: writes without end and notes what was acknowledged.
#[test]
#[ignore = "run by survives_being_killed"]
fn writer() {
    let Some(dir) = env::var_os(DIR).map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(write_forever(&dir));
}

async fn write_forever(dir: &Path) {
    let store = open(dir, 300);
    store.create_collection(collection("events")).await.unwrap();
    let mut notes = OpenOptions::new().append(true).create(true).open(dir.join("acknowledged")).unwrap();
    let start = fs::read_to_string(dir.join("acknowledged")).unwrap().lines().count() as i64 + 1;
    for version in start.. {
        let first = (version as u64 * 37) % POINTS;
        let ids: Vec<u64> = (first..first + 25).map(|n| n % POINTS).collect();
        let selector = || {
            let ids = ids.iter().copied().map(id).collect();
            let one_of = PointsSelectorOneOf::Points(PointsIdsList { ids });
            Some(PointsSelector { points_selector_one_of: Some(one_of) })
        };
        if version % 7 == 0 {
            let delete = DeletePoints {
                collection_name: "events".to_owned(),
                points: selector(),
                ..DeletePoints::default()
            };
            store.delete(delete).await.unwrap();
            note(&mut notes, "gone", version, &ids);
            continue;
        }
        upsert(&store, "events", ids.iter().map(|n| versioned(*n, version)).collect()).await;
        if version % 5 == 0 {
            let set = SetPayloadPoints {
                collection_name: "events".to_owned(),
                payload: [("marked".to_owned(), int(version))].into(),
                points_selector: selector(),
                ..SetPayloadPoints::default()
            };
            store.set_payload(set).await.unwrap();
            note(&mut notes, "marked", version, &ids);
        } else {
            note(&mut notes, "there", version, &ids);
        }
    }
}

fn note(notes: &mut fs::File, what: &str, version: i64, ids: &[u64]) {
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    notes.write_all(format!("{what} {version} {}\n", ids.join(",")).as_bytes()).unwrap();
}

/// What was last acknowledged of each point: its version, or that it is gone.
fn acknowledged(dir: &Path) -> BTreeMap<u64, (String, i64)> {
    let mut last = BTreeMap::new();
    for line in fs::read_to_string(dir.join("acknowledged")).unwrap_or_default().lines() {
        let [what, version, ids] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line:?}") };
        for n in ids.split(',') {
            last.insert(n.parse().unwrap(), (what.to_owned(), version.parse().unwrap()));
        }
    }
    last
}

fn spawn(dir: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "writer", "--ignored"])
        .env(DIR, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn notes(dir: &Path) -> usize {
    fs::read_to_string(dir.join("acknowledged")).unwrap_or_default().lines().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn survives_being_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut unexpected = 0;
    for round in 0..ROUNDS {
        let before = notes(dir.path());
        let mut child = spawn(dir.path());
        let start = Instant::now();
        // A different moment each time, also while the next start is still reading its journal.
        while round % 4 != 3 && notes(dir.path()) < before + 5 + 17 * round {
            assert!(start.elapsed() < Duration::from_secs(60), "the writer makes no progress");
            assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself in round {round}");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        tokio::time::sleep(Duration::from_millis(23 * round as u64 % 60)).await;
        child.kill().unwrap();
        child.wait().unwrap();

        // Only sometimes, so that journals also pile up over several kills.
        if round % 3 == 2 || round + 1 == ROUNDS {
            let store = open(dir.path(), 300);
            unexpected += check(&store, dir.path()).await;
            store.close().await;
        }
    }
    assert!(unexpected <= ROUNDS, "one write at a time may be there without its acknowledgement");
}

/// Returns how many versions beyond the acknowledged ones are there.
async fn check(store: &hindsight_store_edge::EdgeBackend, dir: &Path) -> usize {
    let mut stored: BTreeMap<u64, _> =
        everything(store, "events").await.into_iter().map(|point| (number(&point.id), point)).collect();
    assert_eq!(count(store, "events", None).await, stored.len() as u64, "no point twice");
    let newest = notes(dir) as i64;
    let mut beyond = std::collections::BTreeSet::new();
    for (n, (what, version)) in acknowledged(dir) {
        let point = stored.remove(&n);
        let at = point.as_ref().map(version_of);
        match (what.as_str(), at) {
            // The write that was under way when the process died.
            (_, Some(at)) if at > newest => {
                beyond.insert(at);
            }
            (_, None) if (newest + 1) % 7 == 0 => {
                beyond.insert(newest + 1);
            }
            ("gone", at) => assert_eq!(at, None, "point {n} was deleted in {version}"),
            (_, at) => assert_eq!(at, Some(version), "point {n}"),
        }
        if what == "marked" && at == Some(version) {
            let marked = point.unwrap().payload.get("marked").cloned();
            assert_eq!(marked, Some(int(version)), "point {n}");
        }
    }
    assert!(stored.values().all(|point| version_of(point) > newest), "nothing that was never written");
    beyond.len()
}
