use super::*;
use crate::{Failure, code};

fn is_told(error: EmbedError, begins: &str) {
    let failure = Failure::from(error);
    assert_eq!(failure.code, code::CONFIG);
    assert!(failure.message.starts_with(begins), "{failure}");
    assert!(failure.message.contains("a model directory holds config.json"), "{failure}");
}

#[tokio::test]
async fn a_directory_without_a_model_is_told_by_its_setting_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("模型");
    let reranker = LateReranker::new(&config::Reranker::Directory { path: path.clone() });
    is_told(reranker.load().await.err().unwrap(), "recall.reranker.path: ");
    is_told(reranker.rerank("q", &["t".to_owned()]).await.unwrap_err(), "recall.reranker.path: ");
    is_told(embedder(&config::Embedder::Directory { path }).await.err().unwrap(), "embedder.path: ");
}
