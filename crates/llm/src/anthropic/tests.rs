use hindsight_ports::{JsonSchema, LlmUsage};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;
use crate::{Prices, Provider, testing::ManualClock, tokens::tests::request};

fn asking() -> LlmRequest {
    let schema =
        json!({"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]});
    LlmRequest {
        schema: Some(JsonSchema { name: "verdict".to_owned(), schema }),
        temperature: 1.5,
        ..request("给步骤打标签。", "kubectl get pods")
    }
}

fn answer(content: Value, stop_reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "type": "message", "role": "assistant", "model": "c-2026", "content": content, "stop_reason": stop_reason,
        "usage": {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 50},
    }))
}

fn tool(input: Value) -> Value {
    json!([
        {"type": "thinking", "thinking": "…", "signature": ""},
        {"type": "text", "text": "好的。"},
        {"type": "tool_use", "id": "t1", "name": "verdict", "input": input},
    ])
}

async fn serving(response: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/v1/messages")).respond_with(response).mount(&server).await;
    server
}

fn model(server: &MockServer) -> Anthropic {
    let settings = EndpointSettings {
        api_key: Some("k-1".into()),
        prices: Prices { input: 3.0, output: 15.0 },
        ..EndpointSettings::new(Provider::Anthropic, format!("{}/v1/", server.uri()), "c")
    };
    Anthropic::new(&settings, Arc::new(ManualClock::default())).unwrap()
}

#[tokio::test]
async fn the_shape_is_asked_for_as_a_tool_that_must_be_called() {
    let server = MockServer::start().await;
    let wanted = json!({
        "model": "c", "max_tokens": 100, "system": "给步骤打标签。", "temperature": 1.0,
        "messages": [{"role": "user", "content": "kubectl get pods"}],
        "tools": [{"name": "verdict", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "verdict"},
    });
    Mock::given(header("x-api-key", "k-1"))
        .and(header("anthropic-version", "2023-06-01"))
        .and(path("/v1/messages"))
        .and(body_partial_json(wanted))
        .respond_with(answer(tool(json!({"label": "必要"})), "tool_use"))
        .expect(1)
        .mount(&server)
        .await;
    let reply = model(&server).complete(&asking()).await.unwrap();
    let usage = LlmUsage { input_tokens: 1000, output_tokens: 50, cost_micros: 3000 + 750 };
    let (text, model) = ("{\"label\":\"必要\"}".to_owned(), "c-2026".to_owned());
    assert_eq!(reply, LlmReply { text, model, usage, cached: false });
}

#[tokio::test]
async fn without_a_shape_the_words_are_the_answer() {
    let words = json!([{"type": "text", "text": "Needed, "}, {"type": "text", "text": "是的。"}]);
    let server = serving(answer(words, "end_turn")).await;
    assert_eq!(model(&server).complete(&request("s", "u")).await.unwrap().text, "Needed, 是的。");
    let body: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none());
}

#[tokio::test]
async fn a_model_that_takes_no_temperature_is_asked_without() {
    let server = serving(|request: &Request| {
        let body: Value = request.body_json().unwrap();
        match body.get("temperature") {
            Some(_) => {
                ResponseTemplate::new(400).set_body_string("`temperature` is deprecated for this model.")
            }
            None => answer(tool(json!({})), "tool_use"),
        }
    })
    .await;
    let model = model(&server);
    for _ in 0..2 {
        model.complete(&asking()).await.unwrap();
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 3, "it is remembered");
}

#[rstest]
#[case::cut(answer(tool(json!({"lab": 1})), "max_tokens"), "Truncated")]
#[case::refusal(answer(json!([]), "refusal"), "Declined")]
#[case::no_tool(answer(json!([{"type": "text", "text": "no"}]), "end_turn"), "Malformed")]
#[case::not_json(ResponseTemplate::new(200).set_body_string("<html>"), "Malformed")]
#[case::key(ResponseTemplate::new(401).set_body_string("invalid x-api-key"), "Misconfigured")]
#[case::model(ResponseTemplate::new(404).set_body_string("not_found_error"), "Misconfigured")]
#[case::long(ResponseTemplate::new(413).set_body_string("request_too_large"), "InvalidRequest")]
#[case::busy(ResponseTemplate::new(429).insert_header("retry-after", "9"), "RateLimited { reason: \"the endpoint answered 429 Too Many Requests: \", retry_after: Some(9s)")]
#[case::overloaded(ResponseTemplate::new(529).set_body_string("overloaded_error"), "Unavailable")]
#[case::broken(ResponseTemplate::new(500), "Unavailable")]
#[tokio::test]
async fn every_end_has_its_meaning(#[case] response: ResponseTemplate, #[case] kind: &str) {
    let server = serving(response).await;
    let error = model(&server).complete(&asking()).await.unwrap_err();
    assert!(format!("{error:?}").starts_with(kind), "{error:?}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}
