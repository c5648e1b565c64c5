//! The whole of it, as services use it: what the decorators do together.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use hindsight_llm::{EndpointSettings, LlmSettings, Provider, build};
use hindsight_ports::{JsonSchema, Llm, LlmError, LlmRequest, SystemClock};
use hindsight_types::TenantId;
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

fn asking(user: &str) -> LlmRequest {
    let schema = json!({
        "type": "object", "required": ["label", "why"], "additionalProperties": false,
        "properties": {"label": {"enum": ["NECESSARY", "REDUNDANT"]}, "why": {"type": "string"}},
    });
    LlmRequest {
        tenant: TenantId::new("acme").unwrap(),
        system: "You label one step of an agent. Say why in at most ten words.".to_owned(),
        user: user.to_owned(),
        schema: Some(JsonSchema { name: "verdict".to_owned(), schema }),
        max_output_tokens: 120,
        temperature: 0.0,
        seed: Some(1),
    }
}

async fn serving(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).mount(&server).await;
    server
}

async fn healthy() -> MockServer {
    let choice = json!({"message": {"content": "{\"label\": \"NECESSARY\", \"why\": \"因为\"}"}});
    serving(ResponseTemplate::new(200).set_body_json(json!({"choices": [choice]}))).await
}

fn endpoint(server: &MockServer) -> EndpointSettings {
    EndpointSettings {
        retries: 1,
        breaker_failures: 2,
        breaker_pause: Duration::from_secs(600),
        ..EndpointSettings::new(Provider::OpenAi, server.uri(), "m")
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(usize, bool)>>>);

fn built(settings: &LlmSettings, heard: &Heard) -> Arc<dyn Llm> {
    let heard = heard.0.clone();
    let on_breaker = Arc::new(move |place, open| heard.lock().unwrap().push((place, open)));
    build(settings, Arc::new(SystemClock), on_breaker).unwrap().unwrap()
}

async fn calls(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn a_broken_endpoint_is_replaced_then_left_alone() {
    let broken = serving(ResponseTemplate::new(500).insert_header("retry-after", "0")).await;
    let (second, heard) = (healthy().await, Heard::default());
    let endpoints = vec![endpoint(&broken), endpoint(&second)];
    let llm = built(&LlmSettings { endpoints, ..LlmSettings::new(endpoint(&broken)) }, &heard);
    for user in ["a", "b", "c", "d", "a"] {
        let reply = llm.complete(&asking(user)).await.unwrap();
        assert!(reply.text.contains("因为"));
    }
    assert_eq!(calls(&broken).await, 2 * 2, "two calls with one retry each");
    assert_eq!(calls(&second).await, 4, "the fifth came from the cache");
    assert_eq!(*heard.0.lock().unwrap(), [(0, true)]);
}

#[tokio::test]
async fn what_comes_from_the_cache_costs_no_budget() {
    let server = healthy().await;
    let settings = LlmSettings { daily_tokens_per_tenant: Some(400), ..LlmSettings::new(endpoint(&server)) };
    let llm = built(&settings, &Heard::default());
    for _ in 0..20 {
        llm.complete(&asking("a")).await.unwrap();
    }
    let mut refused = None;
    for i in 0..20 {
        refused = refused.or(llm.complete(&asking(&i.to_string())).await.err());
    }
    assert!(matches!(refused, Some(LlmError::BudgetExceeded { .. })), "{refused:?}");
    assert!(calls(&server).await < 10);
}

#[test]
fn no_endpoint_no_model_and_too_many_are_told() {
    let none = LlmSettings { endpoints: vec![], daily_tokens_per_tenant: None, cache_bytes: 0 };
    assert!(build(&none, Arc::new(SystemClock), Arc::new(|_, _| {})).unwrap().is_none());
    let one = EndpointSettings::new(Provider::Anthropic, "http://localhost/v1", "m");
    let many = LlmSettings { endpoints: vec![one; 5], ..none };
    assert!(build(&many, Arc::new(SystemClock), Arc::new(|_, _| {})).is_err());
}

/// `HINDSIGHT_LLM_URL` (with `HINDSIGHT_LLM_MODEL` and `HINDSIGHT_LLM_KEY` where they matter) names a real one.
#[tokio::test]
#[ignore = "asks a real model"]
async fn a_real_model_answers_in_the_wanted_shape() {
    let url = std::env::var("HINDSIGHT_LLM_URL").expect("HINDSIGHT_LLM_URL names the endpoint, up to /v1");
    let model = std::env::var("HINDSIGHT_LLM_MODEL").unwrap_or_else(|_| "local".to_owned());
    let api_key = std::env::var("HINDSIGHT_LLM_KEY").ok().map(Into::into);
    let timeout = Duration::from_secs(600);
    let endpoint =
        EndpointSettings { api_key, timeout, ..EndpointSettings::new(Provider::OpenAi, url, model) };
    let llm = built(&LlmSettings::new(endpoint), &Heard::default());
    for step in
        ["The agent read the log, found the port, and used it.", "代理重复执行了同一个查询，结果相同。"]
    {
        let begun = std::time::Instant::now();
        let reply = llm.complete(&asking(step)).await.unwrap();
        println!("{:.1} s, {:?}: {}", begun.elapsed().as_secs_f64(), reply.usage, reply.text);
        let verdict: serde_json::Value = serde_json::from_str(&reply.text).unwrap();
        assert!(matches!(verdict["label"].as_str(), Some("NECESSARY" | "REDUNDANT")), "{verdict}");
    }
}
