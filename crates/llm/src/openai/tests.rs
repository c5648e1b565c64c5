use std::time::Duration;

use hindsight_ports::JsonSchema;
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
        seed: Some(7),
        ..request("Label the step. 给步骤打标签。", "kubectl get pods")
    }
}

fn answer(content: &str) -> Value {
    json!({
        "object": "chat.completion", "model": "m-2026",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    })
}

fn saying(content: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(answer(content))
}

async fn serving(response: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(response).mount(&server).await;
    server
}

fn settings(server: &MockServer) -> EndpointSettings {
    EndpointSettings::new(Provider::OpenAi, format!("{}/v1", server.uri()), "m")
}

fn model(settings: &EndpointSettings) -> OpenAi {
    OpenAi::new(settings, Arc::new(ManualClock::default())).unwrap()
}

async fn asked(server: &MockServer) -> Vec<Value> {
    server.received_requests().await.unwrap().iter().map(|r| r.body_json().unwrap()).collect()
}

#[tokio::test]
async fn asks_as_openai_wants_and_counts_tokens_and_cost() {
    let server = MockServer::start().await;
    let wanted = json!({
        "model": "m", "max_tokens": 100, "temperature": 0.0, "seed": 7,
        "messages": [
            {"role": "system", "content": "Label the step. 给步骤打标签。"},
            {"role": "user", "content": "kubectl get pods"},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "strict": true}},
    });
    Mock::given(header("authorization", "Bearer k-1"))
        .and(body_partial_json(wanted))
        .respond_with(saying("{\"label\": \"必要\"}"))
        .expect(1)
        .mount(&server)
        .await;
    let prices = Prices { input: 0.15, output: 0.6 };
    let settings = EndpointSettings { api_key: Some("k-1".into()), prices, ..settings(&server) };
    let reply = model(&settings).complete(&asking()).await.unwrap();
    let usage = LlmUsage { input_tokens: 1000, output_tokens: 100, cost_micros: 210 };
    let (text, model) = ("{\"label\": \"必要\"}".to_owned(), "m-2026".to_owned());
    assert_eq!(reply, LlmReply { text, model, usage, cached: false });
}

/// A server that refuses some ways of asking, each with its words.
fn picky(refuses: &'static [(&'static str, u16, &'static str)]) -> impl wiremock::Respond {
    move |request: &Request| {
        let body: Value = request.body_json().unwrap();
        for (pointer, status, words) in refuses {
            let (pointer, value) = pointer.split_once('=').unwrap_or((pointer, ""));
            if body.pointer(pointer).is_some_and(|v| value.is_empty() || v == value) {
                return ResponseTemplate::new(*status).set_body_string(*words);
            }
        }
        saying("{\"label\": \"a\"}")
    }
}

const FORMAT: &str = "/response_format/type=json_schema";

#[rstest]
#[case::no_schema(&[(FORMAT, 400, "This response_format type is unavailable now")], "json_object", 2)]
#[case::no_words(&[(FORMAT, 422, "")], "json_object", 2)]
#[case::no_format(&[("/response_format", 501, "not implemented")], "", 3)]
#[tokio::test]
async fn a_server_without_json_schema_is_asked_in_words(
    #[case] refuses: &'static [(&'static str, u16, &'static str)],
    #[case] format: &str,
    #[case] calls: usize,
) {
    let server = serving(picky(refuses)).await;
    let model = model(&settings(&server));
    for _ in 0..2 {
        assert_eq!(model.complete(&asking()).await.unwrap().text, "{\"label\": \"a\"}");
    }
    let asked = asked(&server).await;
    assert_eq!(asked.len(), calls + 1, "what works is remembered");
    let last = asked.last().unwrap();
    assert_eq!(last["response_format"]["type"].as_str().unwrap_or_default(), format);
    assert!(last["messages"][0]["content"].as_str().unwrap().contains("\"required\":[\"label\"]"), "{last}");
}

#[tokio::test]
async fn a_reasoning_model_is_asked_its_way() {
    let server = serving(picky(&[
        ("/max_tokens", 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ("/temperature", 400, "Unsupported value: 'temperature' does not support 0.0 with this model."),
        ("/seed", 422, "extra_forbidden: seed"),
    ]))
    .await;
    let model = model(&settings(&server));
    model.complete(&asking()).await.unwrap();
    let last = asked(&server).await.pop().unwrap();
    assert_eq!(last["max_completion_tokens"], 100);
    assert_eq!(last["response_format"]["type"], "json_schema", "the schema stays");
    assert!(
        last.get("temperature").is_none() && last.get("seed").is_none() && last.get("max_tokens").is_none()
    );
}

#[tokio::test]
async fn a_server_that_ignores_the_format_is_told_in_words_and_all_tokens_count() {
    let server = serving(|request: &Request| {
        let told = String::from_utf8_lossy(&request.body).contains("Answer with one JSON object");
        saying(if told { "好的：```json\n{\"label\": \"a\"}\n```" } else { "It was needed." })
    })
    .await;
    let reply = model(&settings(&server)).complete(&asking()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.tokens()), ("{\"label\": \"a\"}", 2 * 1100));
}

#[tokio::test]
async fn one_slip_of_a_model_does_not_change_how_it_is_asked() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let server = serving(move |_: &Request| {
        let n = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        saying(if n == 1 { "sorry" } else { "{}" })
    })
    .await;
    let model = model(&settings(&server));
    model.complete(&asking()).await.unwrap();
    let slip = model.complete(&asking()).await.unwrap_err();
    assert!(matches!(&slip, LlmError::Malformed { usage, .. } if usage.tokens() == 1100), "{slip:?}");
    model.complete(&asking()).await.unwrap();
    let asked = asked(&server).await;
    assert!(asked.iter().all(|a| a["response_format"]["type"] == "json_schema") && asked.len() == 3);
}

#[tokio::test]
async fn a_request_that_is_wrong_in_every_way_is_refused_with_the_first_reason() {
    let server = serving(picky(&[("/model", 400, "maximum context length is 8192 tokens")])).await;
    let model = model(&settings(&server));
    let error = model.complete(&asking()).await.unwrap_err();
    assert!(matches!(&error, LlmError::InvalidRequest { reason } if reason.contains("8192")), "{error}");
    assert_eq!(model.known().dialect, Dialect::default(), "nothing is learned from it");
}

#[rstest]
#[case::key(401, "wrong key sk-secret", "check api_key")]
#[case::forbidden(403, "", "check api_key")]
#[case::model(404, "no model m", "check url and model")]
#[case::moved(308, "", "check url")]
#[case::credit(429, "{\"error\": {\"code\": \"insufficient_quota\"}}", "no credit")]
#[tokio::test]
async fn wrong_settings_are_named_and_the_key_is_not(
    #[case] status: u16,
    #[case] body: &str,
    #[case] remedy: &str,
) {
    let response = ResponseTemplate::new(status).insert_header("location", "/elsewhere");
    let server = serving(response.set_body_string(body)).await;
    let settings = EndpointSettings { api_key: Some("sk-secret".into()), ..settings(&server) };
    let error = model(&settings).complete(&asking()).await.unwrap_err();
    assert!(matches!(&error, LlmError::Misconfigured { reason } if reason.contains(remedy)), "{error}");
    assert!(!format!("{error:?} {settings:?}").contains("sk-secret"), "{error}");
    assert_eq!(asked(&server).await.len(), 1);
}

#[rstest]
#[case::seconds("7", 7)]
#[case::fraction("1.5", 1)]
#[case::date("Sun, 01 Mar 2026 20:02:00 GMT", 120)]
#[case::past("Sun, 01 Mar 2026 19:00:00 GMT", 0)]
#[tokio::test]
async fn retry_after_is_read(#[case] header: &str, #[case] seconds: u64) {
    for status in [429, 503] {
        let server = serving(ResponseTemplate::new(status).insert_header("retry-after", header)).await;
        let error = model(&settings(&server)).complete(&asking()).await.unwrap_err();
        let (LlmError::RateLimited { retry_after, .. } | LlmError::Unavailable { retry_after, .. }) = &error
        else {
            panic!("{error:?}")
        };
        assert_eq!(retry_after.unwrap().as_secs(), seconds);
        assert_eq!(matches!(error, LlmError::RateLimited { .. }), status == 429);
    }
}

#[rstest]
#[case("soon")]
#[case("-5")]
#[case("1e300")]
#[tokio::test]
async fn a_retry_after_without_sense_counts_as_none(#[case] header: &str) {
    let server = serving(ResponseTemplate::new(500).insert_header("retry-after", header)).await;
    let error = model(&settings(&server)).complete(&asking()).await.unwrap_err();
    assert!(matches!(error, LlmError::Unavailable { retry_after: None, .. }), "{error:?}");
}

#[tokio::test]
async fn a_slow_answer_times_out() {
    let server = serving(saying("{}").set_delay(Duration::from_secs(60))).await;
    let after = Duration::from_millis(50);
    let settings = EndpointSettings { timeout: after, ..settings(&server) };
    assert_eq!(model(&settings).complete(&asking()).await.unwrap_err(), LlmError::TimedOut { after });
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    // A port that was just free and is taken by nobody.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = EndpointSettings::new(Provider::OpenAi, format!("http://127.0.0.1:{port}/v1"), "m");
    let error = model(&settings).complete(&asking()).await.unwrap_err();
    assert!(matches!(error, LlmError::Unavailable { .. }), "{error:?}");
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
}

#[rstest]
#[case::not_json("<html>")]
#[case::cut("{\"choices\": [{\"message\": {\"content\": \"")]
#[case::no_choice("{\"choices\": []}")]
#[case::null("{\"choices\": [{\"message\": {\"content\": null}}]}")]
#[tokio::test]
async fn what_is_no_answer_is_malformed(#[case] body: &str) {
    let server = serving(ResponseTemplate::new(200).set_body_string(body)).await;
    for request in [asking(), request("s", "u")] {
        let error = model(&settings(&server)).complete(&request).await.unwrap_err();
        assert!(matches!(error, LlmError::Malformed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let server = serving(ResponseTemplate::new(200).set_body_bytes(vec![b' '; 5 << 20])).await;
    let error = model(&settings(&server)).complete(&request("s", "u")).await.unwrap_err();
    assert!(
        matches!(&error, LlmError::Malformed { reason, .. } if reason.contains("longer than")),
        "{error}"
    );
}

#[tokio::test]
async fn a_huge_prompt_is_not_sent() {
    let server = serving(saying("{}")).await;
    let error = model(&settings(&server)).complete(&request("s", &"字".repeat(2 << 20))).await.unwrap_err();
    assert!(matches!(&error, LlmError::InvalidRequest { reason } if reason.contains("shorten")), "{error}");
    assert!(asked(&server).await.is_empty());
}

#[rstest]
#[case::length(json!({"message": {"content": "{\"a"}, "finish_reason": "length"}), "Truncated")]
#[case::filter(json!({"message": {"content": ""}, "finish_reason": "content_filter"}), "Declined")]
#[case::refusal(json!({"message": {"content": null, "refusal": "I will not."}}), "Declined")]
#[tokio::test]
async fn an_answer_that_ends_early_says_why(#[case] choice: Value, #[case] kind: &str) {
    let server = serving(ResponseTemplate::new(200).set_body_json(json!({"choices": [choice]}))).await;
    let error = model(&settings(&server)).complete(&asking()).await.unwrap_err();
    assert!(format!("{error:?}").starts_with(kind), "{error:?}");
    assert_eq!(asked(&server).await.len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_whole_at_the_last_token_counts() {
    let choice = json!({"message": {"content": "{\"label\": \"a\"}"}, "finish_reason": "length"});
    let server = serving(ResponseTemplate::new(200).set_body_json(json!({"choices": [choice]}))).await;
    let reply = model(&settings(&server)).complete(&asking()).await.unwrap();
    assert!(reply.usage.input_tokens > 0 && reply.usage.output_tokens > 0, "estimated where not told");
}

#[rstest]
#[case::url(EndpointSettings::new(Provider::OpenAi, "localhost:80", "m"), "url")]
#[case::model(EndpointSettings::new(Provider::OpenAi, "http://localhost", " "), "model")]
#[case::timeout(EndpointSettings { timeout: Duration::ZERO, ..EndpointSettings::new(Provider::OpenAi, "http://h", "m") }, "timeout")]
#[case::concurrency(EndpointSettings { concurrency: 0, ..EndpointSettings::new(Provider::OpenAi, "http://h", "m") }, "concurrency")]
#[case::price(EndpointSettings { prices: Prices { input: -1.0, output: 0.0 }, ..EndpointSettings::new(Provider::OpenAi, "http://h", "m") }, "price")]
#[tokio::test]
async fn wrong_settings_are_told_before_anything_is_asked(
    #[case] settings: EndpointSettings,
    #[case] field: &str,
) {
    let Err(error) = OpenAi::new(&settings, Arc::new(ManualClock::default())) else { panic!("accepted") };
    assert!(matches!(&error, LlmError::Misconfigured { reason } if reason.contains(field)), "{error}");
}
