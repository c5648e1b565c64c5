use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;

/// Answers like a real endpoint, with vectors `[length of the text, 1]`, last text first.
fn answer(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let data: Vec<Value> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, text)| json!({"index": i, "embedding": [text.as_str().unwrap().len(), 1]}))
        .rev()
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({"object": "list", "data": data}))
}

async fn serving(response: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/v1/embeddings")).respond_with(response).mount(&server).await;
    server
}

fn settings(server: &MockServer) -> HttpSettings {
    HttpSettings { dimension: Some(2), ..HttpSettings::new(format!("{}/v1", server.uri()), "m") }
}

async fn embed(settings: HttpSettings, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    HttpEmbedder::connect(settings).await?.embed(&texts, Purpose::Query).await
}

#[tokio::test]
async fn keeps_order_over_batches_and_normalises() {
    let server = serving(answer).await;
    let settings = HttpSettings { batch_size: 2, ..settings(&server) };
    let vectors = embed(settings, &["a", "bb", "ccc", "dddd", "eeeee"]).await.unwrap();
    let ratios: Vec<f32> = vectors.iter().map(|v| (v[0] / v[1]).round()).collect();
    assert_eq!(ratios, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!(vectors.iter().all(|v| (v[0].hypot(v[1]) - 1.0).abs() < 1e-6));
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
}

#[tokio::test]
async fn sends_key_prefix_and_dimensions() {
    let server = MockServer::start().await;
    Mock::given(header("authorization", "Bearer k-1"))
        .and(body_partial_json(
            json!({"model": "m", "dimensions": 2, "input": ["query: 磁盘", "query: (empty)"]}),
        ))
        .respond_with(answer)
        .expect(1)
        .mount(&server)
        .await;
    let settings = HttpSettings {
        api_key: Some("k-1".to_owned().into()),
        shorten: true,
        query_prefix: "query: ".to_owned(),
        ..settings(&server)
    };
    embed(settings, &["磁盘", " \n"]).await.unwrap();
}

#[tokio::test]
async fn learns_the_dimension_and_names_the_prefix() {
    let server = serving(answer).await;
    let settings =
        HttpSettings { dimension: None, passage_prefix: "passage: ".to_owned(), ..settings(&server) };
    let embedder = HttpEmbedder::connect(settings).await.unwrap();
    assert_eq!(embedder.id().dimension, 2);
    assert_eq!(embedder.id().model, "http:m with prefix \"passage: \"");
}

#[rstest]
#[case(429)]
#[case(503)]
#[tokio::test]
async fn tries_again_when_asked_to(#[case] status: u16) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(status).insert_header("retry-after", "0"))
        .up_to_n_times(2)
        .mount(&server)
        .await;
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    embed(settings(&server), &["a"]).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap().len(), 3);
}

#[tokio::test]
async fn gives_up_after_a_bounded_number_of_tries() {
    let server = serving(ResponseTemplate::new(500).insert_header("retry-after", "0")).await;
    let error = embed(settings(&server), &["a"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
}

#[tokio::test]
async fn does_not_wait_an_hour_for_an_endpoint() {
    let server = serving(ResponseTemplate::new(429).insert_header("retry-after", "3600")).await;
    let error = embed(settings(&server), &["a"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[rstest]
#[case(400, "Rejected")]
#[case(401, "Misconfigured")]
#[case(404, "Misconfigured")]
#[case(422, "Rejected")]
#[tokio::test]
async fn refusals_are_not_tried_again(#[case] status: u16, #[case] kind: &str) {
    let server = serving(ResponseTemplate::new(status).set_body_string("because 因为")).await;
    let settings = HttpSettings { api_key: Some("k-secret".to_owned().into()), ..settings(&server) };
    let error = embed(settings, &["a"]).await.unwrap_err();
    assert!(format!("{error:?}").starts_with(kind), "{error:?}");
    assert!(error.to_string().contains("because 因为") && !error.to_string().contains("k-secret"));
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[rstest]
#[case::not_json("<html>")]
#[case::too_few(r#"{"data":[{"index":0,"embedding":[1,0]}]}"#)]
#[case::twice(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#)]
#[case::outside(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}"#)]
#[case::wrong_dimension(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1,0,0]}]}"#)]
#[case::too_large(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1e300,0]}]}"#)]
#[case::zero(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}"#)]
#[case::null(r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[null,0]}]}"#)]
#[tokio::test]
async fn a_wrong_answer_is_an_error(#[case] body: &str) {
    let server = serving(ResponseTemplate::new(200).set_body_string(body)).await;
    let error = embed(settings(&server), &["a", "b"]).await.unwrap_err();
    assert!(!matches!(error, EmbedError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn a_silent_endpoint_is_unavailable() {
    let server = serving(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let settings = HttpSettings { timeout: Duration::from_millis(20), dimension: None, ..settings(&server) };
    let error = embed(settings, &["a"]).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Unavailable(m) if m.contains("set dimension")), "{error}");
}

#[rstest]
#[case::url(HttpSettings::new("localhost:80", "m"), "base_url")]
#[case::model(HttpSettings::new("http://localhost", ""), "model")]
#[case::dimension(HttpSettings { dimension: Some(0), ..HttpSettings::new("http://localhost", "m") }, "dimension")]
#[case::shorten(HttpSettings { shorten: true, ..HttpSettings::new("http://localhost", "m") }, "shorten")]
#[case::batch(HttpSettings { batch_size: 0, ..HttpSettings::new("http://localhost", "m") }, "batch_size")]
#[case::timeout(HttpSettings { timeout: Duration::ZERO, ..HttpSettings::new("http://localhost", "m") }, "timeout")]
#[tokio::test]
async fn wrong_settings_are_named(#[case] settings: HttpSettings, #[case] field: &str) {
    let error = HttpEmbedder::connect(settings).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Misconfigured(m) if m.contains(field)), "{error}");
}
