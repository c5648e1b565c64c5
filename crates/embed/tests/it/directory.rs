//! A model directory with something wrong is named, with the file and what to do.

use std::{fs, path::Path};

use crate::support::{cosine, tiny_config, write_tiny_model};
use hindsight_embed::DirEmbedder;
use hindsight_ports::{EmbedError, Embedder, Purpose};
use rstest::rstest;
use serde_json::json;

async fn open(path: &Path) -> Result<DirEmbedder, String> {
    match DirEmbedder::open(path.to_owned()).await {
        Ok(embedder) => Ok(embedder),
        Err(EmbedError::Misconfigured(message)) => Err(message),
        Err(other) => panic!("{other:?}"),
    }
}

#[rstest]
#[case("config.json")]
#[case("tokenizer.json")]
#[case("model.safetensors")]
#[tokio::test]
async fn a_missing_or_broken_file_is_named(#[case] name: &str) {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    fs::write(directory.path().join(name), "{").unwrap();
    assert!(open(directory.path()).await.unwrap_err().contains(name));
    fs::remove_file(directory.path().join(name)).unwrap();
    let error = open(directory.path()).await.unwrap_err();
    assert!(error.contains(name) && error.contains("no such file"), "{error}");
}

#[tokio::test]
async fn another_architecture_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    let mut config = tiny_config();
    config["model_type"] = json!("xlm-roberta");
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    let error = open(directory.path()).await.unwrap_err();
    assert!(error.contains("xlm-roberta") && error.contains("\"bert\""), "{error}");
}

#[tokio::test]
async fn weights_of_another_shape_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    let mut config = tiny_config();
    config["num_hidden_layers"] = json!(2);
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    assert!(open(directory.path()).await.unwrap_err().contains("model.safetensors"));
}

async fn embed(embedder: &DirEmbedder, text: &str) -> Vec<f32> {
    embedder.embed(&[text.to_owned()], Purpose::Query).await.unwrap().remove(0)
}

#[tokio::test]
async fn pooling_follows_the_model() {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    let mean = open(directory.path()).await.unwrap();
    fs::create_dir(directory.path().join("1_Pooling")).unwrap();
    let pooling = directory.path().join("1_Pooling/config.json");
    fs::write(&pooling, r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#).unwrap();
    let first = open(directory.path()).await.unwrap();
    assert!(cosine(&embed(&mean, "disk full").await, &embed(&first, "disk full").await) < 0.999);
    fs::write(&pooling, r#"{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}"#).unwrap();
    let error = open(directory.path()).await.unwrap_err();
    assert!(error.contains("1_Pooling") && error.contains("pooling_mode_max_tokens"), "{error}");
}

#[tokio::test]
async fn the_longest_input_follows_the_model() {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    fs::write(directory.path().join("sentence_bert_config.json"), r#"{"max_seq_length": 4}"#).unwrap();
    let embedder = open(directory.path()).await.unwrap();
    let [short, long] =
        [embed(&embedder, "disk full").await, embed(&embedder, "disk full pod restart").await];
    assert!(cosine(&short, &long) > 0.999);
}

#[tokio::test]
async fn identity_follows_the_weights_and_not_the_place() {
    let [a, b] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write_tiny_model(a.path());
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(a.path().join(name), b.path().join(name)).unwrap();
    }
    assert_eq!(open(a.path()).await.unwrap().id(), open(b.path()).await.unwrap().id());
}
