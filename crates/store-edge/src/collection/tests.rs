use std::path::Path;

use qdrant_client::qdrant::{PointId, PointStruct, UpsertPoints, point_id::PointIdOptions};
use qdrant_edge::CountRequest;

use super::*;

fn collection(dir: &Path) -> Collection {
    let shared = Shared {
        lock: Arc::new(DirLock::take(dir).unwrap()),
        optimizers: Arc::new(Semaphore::new(1)),
        optimize_after: 1_000,
    };
    let created = CreateCollection { collection_name: "events".to_owned(), ..CreateCollection::default() };
    Collection::create(Places::new(dir.join("events")), created, shared).unwrap()
}

fn upsert(n: u64) -> Write {
    let id = PointId { point_id_options: Some(PointIdOptions::Num(n)) };
    let point = PointStruct { id: Some(id), ..PointStruct::default() };
    Write::Upsert(UpsertPoints { points: vec![point], ..UpsertPoints::default() })
}

async fn count(collection: &Collection) -> Result<usize, StoreError> {
    collection.read(|shard| shard.count(CountRequest { filter: None, exact: true })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_the_engine_is_an_answer_and_the_shard_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let collection = collection(dir.path());
    collection.write(upsert(1)).await.unwrap();
    let panicked = collection.read(|_| -> OperationResult<()> { panic!("boom") }).await;
    assert!(matches!(&panicked, Err(StoreError::Unavailable(text)) if text.contains("boom")), "{panicked:?}");
    assert!(collection.engine.is_suspect());
    collection.write(upsert(2)).await.unwrap();
    assert!(!collection.engine.is_suspect(), "the write opened it anew");
    assert_eq!(count(&collection).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_cannot_be_opened_answers_unavailable_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let collection = collection(dir.path());
    collection.write(upsert(1)).await.unwrap();
    let (shard, away) = (dir.path().join("events/shard"), dir.path().join("away"));
    let panicked = collection.read(|_| -> OperationResult<()> { panic!("boom") }).await;
    assert!(matches!(panicked, Err(StoreError::Unavailable(_))));
    std::fs::rename(&shard, &away).unwrap();
    std::fs::write(&shard, b"not a directory").unwrap();
    assert!(matches!(collection.write(upsert(2)).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(count(&collection).await, Err(StoreError::Unavailable(_))));

    std::fs::remove_file(&shard).unwrap();
    std::fs::rename(&away, &shard).unwrap();
    let start = std::time::Instant::now();
    while count(&collection).await.is_err() {
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "it is not opened again");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(count(&collection).await.unwrap(), 1, "the refused write is not there");
    collection.write(upsert(2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_wait_are_answered_when_the_collection_closes() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Arc::new(collection(dir.path()));
    let writers: Vec<_> = (0..50)
        .map(|n| {
            let collection = Arc::clone(&collection);
            tokio::spawn(async move { collection.write(upsert(n)).await.is_ok() })
        })
        .collect();
    let closing = Arc::clone(&collection);
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
    let mut written = 0;
    for writer in writers {
        written += usize::from(writer.await.unwrap());
    }
    assert!(matches!(collection.write(upsert(99)).await, Err(StoreError::Unavailable(_))));
    let places = Places::new(dir.path().join("events"));
    let description = Description::load(&places).unwrap().unwrap();
    let shared = Shared {
        lock: Arc::new(DirLock::take(&dir.path().join("other")).unwrap()),
        optimizers: Arc::new(Semaphore::new(1)),
        optimize_after: 1_000,
    };
    let reopened = Collection::open(places, description, shared).unwrap();
    assert!(count(&reopened).await.unwrap() >= written, "{written} were acknowledged");
}

/// Bytes of the files in a directory.
fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_what_was_overwritten_is_shortened_when_there_is_nothing_to_do() {
    const MIB: u64 = 1024 * 1024;
    let dir = tempfile::tempdir().unwrap();
    let collection = collection(dir.path());
    let log = dir.path().join("events/shard/wal");
    let mut largest = 0;
    for n in 0..40_u64 {
        let Write::Upsert(mut upsert) = upsert(1) else { unreachable!() };
        let text = format!("{n} {}", "long ".repeat(200_000));
        upsert.points[0].payload.insert("text".to_owned(), text.into());
        collection.write(Write::Upsert(upsert)).await.unwrap();
        largest = largest.max(size(&log));
    }
    assert!(largest > 32 * MIB, "{largest}: else nothing is shown");
    let start = std::time::Instant::now();
    while size(&log) > 24 * MIB {
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "the log has {} bytes", size(&log));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(count(&collection).await.unwrap(), 1);
}
