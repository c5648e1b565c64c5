use std::{fs, path::PathBuf};

use hindsight_embed::RerankerSpec;
use hindsight_ports::{EmbedError, Reranker};
use rstest::rstest;
use serde::Deserialize;

use crate::support::write_tiny_model;

#[derive(Deserialize)]
struct Case {
    query: String,
    text: String,
    relevance: f64,
}

fn folder(kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reranker").join(kind)
}

async fn open(path: PathBuf) -> Result<std::sync::Arc<dyn Reranker>, EmbedError> {
    RerankerSpec::Directory(path).build().await
}

/// The expected answers are those of `tests/reranker/reference.py`.
#[rstest]
#[case("bert")]
#[case("xlm-roberta")]
#[tokio::test]
async fn says_what_the_reference_says(#[case] kind: &str) {
    let reranker = open(folder(kind)).await.unwrap();
    let cases: Vec<Case> =
        serde_json::from_slice(&fs::read(folder(kind).join("expected.json")).unwrap()).unwrap();
    for case in &cases {
        // Others beside it, so that it is padded.
        let texts = [case.text.clone(), "the pod is where the disk is full".to_owned(), "disk".to_owned()];
        let padded = reranker.rerank(&case.query, &texts).await.unwrap();
        let alone = reranker.rerank(&case.query, &texts[..1]).await.unwrap();
        for got in [padded[0], alone[0]] {
            let difference = f64::from(got) - case.relevance;
            assert!(difference.abs() < 1e-5, "{:?}: {got} is not {}", case.text, case.relevance);
        }
    }
}

#[tokio::test]
async fn keeps_the_order_over_passes() {
    let reranker = open(folder("bert")).await.unwrap();
    let texts: Vec<String> = (0..21).map(|i| "disk pod 磁 ".repeat(20 - i)).collect();
    let together = reranker.rerank("pod", &texts).await.unwrap();
    assert_eq!(together.len(), texts.len());
    for (i, text) in texts.iter().enumerate() {
        let alone = reranker.rerank("pod", std::slice::from_ref(text)).await.unwrap();
        assert!((together[i] - alone[0]).abs() < 1e-5, "{i}");
    }
    assert!(reranker.rerank("pod", &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn hostile_and_huge_texts_have_a_relevance() {
    let reranker = open(folder("xlm-roberta")).await.unwrap();
    let texts =
        ["\u{0}\u{202e}🎉".to_owned(), " \n".to_owned(), "磁盘 disk ".repeat(50_000), "</s> <s>".to_owned()];
    let relevance = reranker.rerank(&texts[2], &texts).await.unwrap();
    assert!(relevance.iter().all(|r| (0.0..=1.0).contains(r)), "{relevance:?}");
}

#[tokio::test]
async fn what_is_no_reranker_is_told_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let error = open(directory.path().join("nowhere")).await.err().unwrap();
    assert!(error.to_string().contains("no such file"), "{error}");

    write_tiny_model(directory.path());
    let error = open(directory.path().to_owned()).await.err().unwrap();
    assert!(error.to_string().contains("a cross-encoder with one output"), "{error}");

    fs::write(directory.path().join("config.json"), r#"{"model_type": "t5"}"#).unwrap();
    let error = open(directory.path().to_owned()).await.err().unwrap();
    assert!(matches!(&error, EmbedError::Misconfigured(m) if m.contains("/rerank")), "{error}");
}
