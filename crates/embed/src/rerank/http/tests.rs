use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;

/// Answers like a real endpoint, best first: the relevance of a text is the number that it is.
fn answer(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let score = |text: &Value| text.as_str().unwrap().parse::<f64>().unwrap();
    let mut results: Vec<Value> = body["documents"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, text)| json!({"index": i, "relevance_score": score(text)}))
        .collect();
    results.sort_by(|a, b| {
        b["relevance_score"].as_f64().unwrap().total_cmp(&a["relevance_score"].as_f64().unwrap())
    });
    ResponseTemplate::new(200).set_body_json(json!({"model": "m", "results": results}))
}

async fn serving(response: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/v1/rerank")).respond_with(response).mount(&server).await;
    server
}

fn settings(server: &MockServer) -> HttpRerankerSettings {
    HttpRerankerSettings::new(format!("{}/v1", server.uri()), "m")
}

async fn rerank(settings: HttpRerankerSettings, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    HttpReranker::new(settings)?.rerank("磁盘", &texts).await
}

#[tokio::test]
async fn keeps_the_order_of_the_texts_over_requests() {
    let server = serving(answer).await;
    let texts: Vec<String> = (0..70).map(|i| format!("0.{i:02}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let relevance = rerank(settings(&server), &texts).await.unwrap();
    let expected: Vec<f32> = (0..70).map(|i| i as f32 / 100.0).collect();
    assert_eq!(relevance, expected);
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    assert!(rerank(settings(&server), &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn sends_key_model_query_and_texts_that_are_not_empty() {
    let server = MockServer::start().await;
    let body = json!({"model": "m", "query": "磁盘", "documents": ["(empty)", "满"], "top_n": 2});
    let scores =
        json!({"results": [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0}]});
    Mock::given(header("authorization", "Bearer k-1"))
        .and(body_partial_json(body))
        .respond_with(ResponseTemplate::new(200).set_body_json(scores))
        .expect(1)
        .mount(&server)
        .await;
    let settings = HttpRerankerSettings { api_key: Some("k-1".to_owned().into()), ..settings(&server) };
    assert_eq!(rerank(settings, &[" \n", "满"]).await.unwrap(), [0.0, 0.75]);
}

#[tokio::test]
async fn logits_become_probabilities_when_said_to_be_logits() {
    let server = serving(answer).await;
    let error = rerank(settings(&server), &["-4.5", "0"]).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Misconfigured(m) if m.contains("logits")), "{error}");
    let settings = HttpRerankerSettings { logits: true, ..settings(&server) };
    let relevance = rerank(settings, &["0", "-800", "800", "2"]).await.unwrap();
    assert_eq!(relevance[..3], [0.5, 0.0, 1.0]);
    assert!((relevance[3] - 0.880_797).abs() < 1e-6);
}

#[rstest]
#[case::not_json("<html>")]
#[case::too_few(r#"{"results":[{"index":0,"relevance_score":1}]}"#)]
#[case::twice(r#"{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}"#)]
#[case::outside(r#"{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]}"#)]
#[case::null(r#"{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":null}]}"#)]
#[case::of_embeddings(r#"{"data":[]}"#)]
#[tokio::test]
async fn a_wrong_answer_is_an_error(#[case] body: &str) {
    let server = serving(ResponseTemplate::new(200).set_body_string(body)).await;
    let error = rerank(settings(&server), &["a", "b"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Misconfigured(_)), "{error}");
}

#[tokio::test]
async fn refusals_and_silence_are_told_apart() {
    let server = serving(ResponseTemplate::new(401)).await;
    let error = rerank(settings(&server), &["1"]).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Misconfigured(m) if m.contains("api_key")), "{error}");
    let server = serving(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let settings = HttpRerankerSettings { timeout: Duration::from_millis(20), ..settings(&server) };
    let error = rerank(settings, &["1"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn a_failure_is_told_without_another_try() {
    let server = serving(ResponseTemplate::new(503)).await;
    let error = rerank(settings(&server), &["1"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[rstest]
#[case::url(HttpRerankerSettings::new("localhost:80", "m"), "base_url")]
#[case::model(HttpRerankerSettings::new("http://localhost", ""), "model")]
#[case::timeout(HttpRerankerSettings { timeout: Duration::ZERO, ..HttpRerankerSettings::new("http://localhost", "m") }, "timeout")]
fn wrong_settings_are_named(#[case] settings: HttpRerankerSettings, #[case] field: &str) {
    let error = HttpReranker::new(settings).unwrap_err();
    assert!(matches!(&error, EmbedError::Misconfigured(m) if m.contains(field)), "{error}");
}
