use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use tokio::sync::Semaphore;

use super::*;

/// Counts, answers when it is let, and fails as often as it is told.
struct Counting {
    id: EmbedderId,
    asked: AtomicUsize,
    fails: AtomicUsize,
    let_through: Semaphore,
    texts: Mutex<Vec<String>>,
}

impl Counting {
    fn new(model: &str) -> Arc<Self> {
        Arc::new(Self {
            id: EmbedderId { model: model.to_owned(), dimension: 2 },
            asked: AtomicUsize::default(),
            fails: AtomicUsize::default(),
            let_through: Semaphore::new(1_000),
            texts: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Embedder for Counting {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.texts.lock().unwrap().extend(texts.iter().cloned());
        self.let_through.acquire().await.unwrap().forget();
        if self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
            return Err(EmbedError::Unavailable("away".to_owned()));
        }
        Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
    }
}

async fn ask(embedder: &RememberingEmbedder, text: &str) -> Result<Vec<f32>, EmbedError> {
    embedder.embed(&[text.to_owned()], Purpose::Query).await.map(|mut vectors| vectors.remove(0))
}

#[tokio::test]
async fn a_question_is_embedded_once_and_another_for_itself() {
    let inner = Counting::new("a");
    let embedder = RememberingEmbedder::new(inner.clone(), 1 << 20);
    for _ in 0..3 {
        assert_eq!(ask(&embedder, "磁盘满了").await.unwrap(), [12.0, 1.0]);
    }
    assert_eq!(ask(&embedder, "disk").await.unwrap(), [4.0, 1.0]);
    assert_eq!(inner.asked(), 2);
}

#[tokio::test]
async fn the_same_question_at_once_is_embedded_once() {
    let inner = Counting::new("a");
    inner.let_through.forget_permits(1_000);
    let embedder = RememberingEmbedder::new(inner.clone(), 1 << 20);
    let asking = join_all((0..20).map(|_| ask(&embedder, "redis")));
    let letting = async {
        tokio::task::yield_now().await;
        inner.let_through.add_permits(1);
    };
    let (answers, ()) = tokio::join!(asking, letting);
    assert!(answers.into_iter().all(|answer| answer.unwrap() == [5.0, 1.0]));
    assert_eq!(inner.asked(), 1);
}

#[tokio::test]
async fn a_failure_is_not_kept_and_another_asks_in_its_place() {
    let inner = Counting::new("a");
    inner.fails.store(1, Ordering::SeqCst);
    let embedder = RememberingEmbedder::new(inner.clone(), 1 << 20);
    let answers = join_all((0..5).map(|_| ask(&embedder, "redis"))).await;
    assert_eq!(answers.iter().filter(|a| a.is_err()).count(), 1);
    assert_eq!(inner.asked(), 2);
}

#[tokio::test]
async fn who_gives_up_does_not_hold_the_others_up() {
    let inner = Counting::new("a");
    inner.let_through.forget_permits(1_000);
    let embedder = Arc::new(RememberingEmbedder::new(inner.clone(), 1 << 20));
    let first = tokio::spawn({
        let embedder = embedder.clone();
        async move { ask(&embedder, "redis").await }
    });
    while inner.asked() == 0 {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn({
        let embedder = embedder.clone();
        async move { ask(&embedder, "redis").await }
    });
    tokio::task::yield_now().await;
    first.abort();
    inner.let_through.add_permits(1);
    let answer = tokio::time::timeout(Duration::from_secs(20), second).await.unwrap().unwrap();
    assert_eq!(answer.unwrap(), [5.0, 1.0]);
}

#[tokio::test]
async fn passages_and_lists_pass_through() {
    let inner = Counting::new("a");
    let embedder = RememberingEmbedder::new(inner.clone(), 1 << 20);
    for _ in 0..2 {
        embedder.embed(&["x".to_owned()], Purpose::Passage).await.unwrap();
        embedder.embed(&["x".to_owned(), "y".to_owned()], Purpose::Query).await.unwrap();
    }
    assert_eq!(inner.asked(), 4);
    assert_eq!(embedder.vectors.len(), 0);
}

#[tokio::test]
async fn takes_no_more_room_than_given() {
    let embedder = RememberingEmbedder::new(Counting::new("a"), 40_000);
    for n in 0..900 {
        ask(&embedder, &format!("问题 {n} {}", "字".repeat(n))).await.unwrap();
    }
    assert!(embedder.vectors.weight() <= 40_000 && !embedder.vectors.is_empty());
}
