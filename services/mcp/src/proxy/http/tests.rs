use std::{convert::Infallible, net::SocketAddr};

use axum::response::sse;
use futures::stream;
use serde_json::{Value, json};

use super::{
    super::{
        Mode,
        observe::MESSAGE_BYTES,
        testkit::{Scripted, settings},
    },
    *,
};

/// A server that answers a call by JSON, or by events when the tool is named so. Calls of tools named meet-… are
/// answered two at a time.
async fn upstream() -> SocketAddr {
    let meeting = Arc::new(tokio::sync::Barrier::new(2));
    let router = Router::new().fallback(|request: Request| async move {
        let (parts, body) = request.into_parts();
        if parts.headers.contains_key("x-echo") {
            return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
        }
        if parts.uri.path() != "/mcp" || parts.headers.contains_key(header::ACCEPT_ENCODING) {
            return StatusCode::NOT_FOUND.into_response();
        }
        match parts.method {
            Method::GET => {
                let said = [": hello\n\n", "id: 1\ndata: {\"method\":\"notifications/message\"}\n\n"];
                let body = Body::from_stream(stream::iter(said.map(Ok::<_, Infallible>)));
                return ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response();
            }
            Method::DELETE => return StatusCode::OK.into_response(),
            _ => {}
        }
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let Ok(message) = serde_json::from_slice::<Value>(&body) else {
            return (StatusCode::BAD_REQUEST, body).into_response();
        };
        if message["method"] == "initialize" {
            let hello =
                json!({"id": message["id"], "result": {"serverInfo": {"name": "weather"}}}).to_string();
            return ([("mcp-session-id", "s-1"), ("content-type", "application/json")], hello)
                .into_response();
        }
        if message["id"].is_null() {
            return StatusCode::ACCEPTED.into_response();
        }
        let answer = match message["params"]["name"].as_str() {
            Some(tool) if tool.starts_with("meet") => {
                meeting.wait().await;
                result(&message["id"]).replace("晴", tool)
            }
            _ => result(&message["id"]),
        };
        if message["params"]["name"] == "streamed" {
            let events = [
                sse::Event::default().data(r#"{"method":"notifications/progress","params":{"progress":1}}"#),
                sse::Event::default().id("7").data(answer),
            ];
            return sse::Sse::new(stream::iter(events.map(Ok::<_, Infallible>))).into_response();
        }
        ([(header::CONTENT_TYPE, "application/json")], answer).into_response()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

fn result(id: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0", "id":{id},"result":{{"content":[{{"type":"text","text":"晴"}}]}}}}"#)
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

/// The proxy before a server, and a client of both.
struct Between {
    http: reqwest::Client,
    direct: String,
    proxied: String,
    stop: tokio::sync::oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<io::Result<()>>,
}

impl Between {
    async fn new(mode: Mode, hindsight: &Scripted) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let direct = format!("http://{}/mcp", upstream().await);
        let proxy = HttpProxy::new(&direct, settings(mode), hindsight.memory()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxied = format!("http://{}{}", listener.local_addr().unwrap(), proxy.path());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let serving = tokio::spawn(proxy.serve(listener, async move { drop(stopped.await) }));
        Self { http: reqwest::Client::new(), direct, proxied, stop, serving }
    }

    fn post(&self, body: String) -> reqwest::RequestBuilder {
        let headers =
            [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let request = self.http.post(&self.proxied).body(body);
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// In the session, after its greeting.
    async fn ask(&self, message: &Value) -> String {
        let sent = self.post(message.to_string()).header("mcp-session-id", "s-1").send().await.unwrap();
        assert_eq!(sent.status(), StatusCode::OK);
        sent.text().await.unwrap()
    }

    async fn greet(&self) {
        let hello = json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "inspector"}}});
        let greeted = self.post(hello.to_string()).send().await.unwrap();
        assert_eq!(greeted.headers()["mcp-session-id"], "s-1");
        assert!(greeted.text().await.unwrap().contains("weather"));
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn requests_and_answers_pass_unchanged() {
    let hindsight = Scripted::new(|_| None);
    let between = Between::new(Mode::Observe, &hindsight).await;
    between.greet().await;
    let bodies = [
        call(1, "plain").to_string(),
        call(2, "streamed").to_string(),
        "no JSON \u{0}\u{1f600}".to_owned(),
        json!({"method": "notifications/initialized"}).to_string(),
        "x".repeat(3_000_000),
    ];
    for body in bodies {
        let direct = between.http.post(&between.direct).body(body.clone()).send().await.unwrap();
        let proxied = between.post(body).header("mcp-session-id", "s-1").send().await.unwrap();
        assert_eq!(direct.status(), proxied.status());
        let kind = header::CONTENT_TYPE;
        assert_eq!(direct.headers().get(&kind), proxied.headers().get(&kind));
        assert_eq!(direct.bytes().await.unwrap(), proxied.bytes().await.unwrap());
    }
    let listened = between.http.get(&between.proxied).header("mcp-session-id", "s-1").send().await.unwrap();
    assert_eq!(
        listened.text().await.unwrap(),
        ": hello\n\nid: 1\ndata: {\"method\":\"notifications/message\"}\n\n"
    );
    let elsewhere = between.http.get(between.proxied.replace("/mcp", "/other")).send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::NOT_FOUND);
    hindsight.until(|h| h.steps().len() == 2).await;
    between.end().await;
    let seen: Vec<_> = hindsight.steps().into_iter().map(|s| (s.action_name, s.observation)).collect();
    assert_eq!(seen, [("plain".to_owned(), "晴".to_owned()), ("streamed".to_owned(), "晴".to_owned())]);
    assert_eq!(hindsight.starts()[0].agent, "inspector");
}

#[tokio::test]
async fn a_warning_comes_with_the_result_in_either_form() {
    let hindsight = Scripted::new(|event| match event {
        hindsight_proto::recall::v1::watch_request::Event::BeforeCall(call) => {
            Some(format!("beware of {}", call.tool))
        }
        _ => None,
    });
    let between = Between::new(Mode::Annotate, &hindsight).await;
    between.greet().await;
    hindsight.until(|h| !h.watched().is_empty()).await;
    let plain = between.ask(&call(1, "plain")).await;
    let read: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(read["result"]["content"][1]["text"], "beware of plain");
    assert!(plain.starts_with(r#"{"jsonrpc":"2.0", "id":1,"#), "{plain}");
    let streamed = between.ask(&call(2, "streamed")).await;
    let (progress, answer) = streamed.split_once("\n\n").unwrap();
    assert_eq!(progress, r#"data: {"method":"notifications/progress","params":{"progress":1}}"#);
    assert!(answer.starts_with("id: 7\ndata: {") && answer.contains("beware of streamed"), "{answer}");
    between.end().await;
}

#[tokio::test]
async fn a_call_that_is_known_to_fail_reaches_the_server_when_repeated() {
    let hindsight = Scripted::warns_of("plain");
    let between = Between::new(Mode::Confirm, &hindsight).await;
    between.greet().await;
    hindsight.until(|h| !h.watched().is_empty()).await;
    let warned: Value = serde_json::from_str(&between.ask(&call(1, "plain")).await).unwrap();
    assert_eq!(warned["result"]["isError"], true);
    assert_eq!(between.ask(&call(2, "plain")).await, result(&json!(2)));
    hindsight.until(|h| h.steps().len() == 1).await;
    between.end().await;
    assert_eq!(hindsight.steps().len(), 1);
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_task() {
    let hindsight = Scripted::new(|_| None);
    let between = Between::new(Mode::Observe, &hindsight).await;
    between.greet().await;
    between.ask(&call(1, "plain")).await;
    let ended = between.http.delete(&between.proxied).header("mcp-session-id", "s-1").send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::OK);
    hindsight.until(|h| h.records().len() == 3).await;
    between.end().await;
}

/// Clients that count alike ask at a time, `pairs` times.
async fn meet(between: &Between, headers: [(&str, &str); 2], pairs: u64) -> Vec<[String; 2]> {
    let mut answers = Vec::new();
    for id in 0..pairs {
        let both =
            [("meet-weather", headers[0]), ("meet-payroll", headers[1])].map(|(tool, (name, value))| {
                let sent = between.post(call(id, tool).to_string()).header(name, value).send();
                async move { sent.await.unwrap().text().await.unwrap() }
            });
        let [weather, payroll] = both;
        let (weather, payroll) = tokio::join!(weather, payroll);
        answers.push([weather, payroll]);
    }
    answers
}

#[tokio::test]
async fn the_answers_of_clients_without_sessions_are_not_mixed_up() {
    let hindsight = Scripted::new(|_| None);
    let between = Between::new(Mode::Observe, &hindsight).await;
    meet(&between, [("user-agent", "same"); 2], 6).await;
    hindsight.until(|h| h.steps().len() == 12).await;
    between.end().await;
    for step in hindsight.steps() {
        assert_eq!(step.action_name, step.observation);
    }
}

#[tokio::test]
async fn a_warning_goes_to_the_client_that_makes_the_call() {
    let hindsight = Scripted::warns_of("meet-payroll");
    let between = Between::new(Mode::Annotate, &hindsight).await;
    // The first calls open the stream.
    meet(&between, [("user-agent", "same"); 2], 1).await;
    hindsight.until(|h| !h.watched().is_empty()).await;
    for [weather, payroll] in meet(&between, [("user-agent", "same"); 2], 3).await {
        assert!(!weather.contains("meet-payroll"), "{weather}");
        assert!(payroll.contains("meet-payroll fails; use another"), "{payroll}");
    }
    between.end().await;
}

#[tokio::test]
async fn two_keys_are_two_clients_and_two_runs() {
    let hindsight = Scripted::new(|_| None);
    let between = Between::new(Mode::Observe, &hindsight).await;
    meet(&between, [("authorization", "Bearer a"), ("authorization", "Bearer b")], 3).await;
    between.end().await;
    hindsight.until(|h| h.steps().len() == 6).await;
    let runs: std::collections::HashSet<_> = hindsight.records().into_iter().map(|r| r.trace_id).collect();
    assert_eq!(runs.len(), 2);
}

#[tokio::test]
async fn a_call_with_a_word_of_greeting_belongs_to_the_others() {
    let hindsight = Scripted::warns_of("plain");
    let between = Between::new(Mode::Confirm, &hindsight).await;
    between.post(call(1, "time").to_string()).send().await.unwrap();
    hindsight.until(|h| !h.watched().is_empty()).await;
    let mut greeting = call(2, "plain");
    greeting["params"]["arguments"] = json!({"phase": "initialize"});
    let held = between.post(greeting.to_string()).send().await.unwrap().text().await.unwrap();
    assert!(held.contains("This call was not made"), "{held}");
    between.end().await;
}

/// A message that is longer than is held: as a whole, and in pieces of which nobody knows how many come.
fn long() -> [Body; 2] {
    let line = vec![b'y'; MESSAGE_BYTES + 1000];
    let pieces: Vec<_> = line.chunks(1_000_000).map(|c| Ok::<_, Infallible>(c.to_vec())).collect();
    [Body::from(line), Body::from_stream(stream::iter(pieces))]
}

#[tokio::test]
async fn a_message_that_is_too_long_to_be_read_passes_and_is_counted() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let direct = format!("http://{}/mcp", upstream().await);
    for mode in [Mode::Observe, Mode::Annotate] {
        let proxy = HttpProxy::new(&direct, settings(mode), Memory::later().1).unwrap();
        for (body, n) in long().into_iter().zip(1..) {
            let request = http::Request::post("/mcp").header("x-echo", "").body(body).unwrap();
            let answer = proxy.shared.forward(request).await;
            assert_eq!(answer.status(), StatusCode::OK);
            let echo = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            assert!(echo.len() == MESSAGE_BYTES + 1000 && echo.iter().all(|b| *b == b'y'));
            let counted =
                proxy.shared.proxy.lock().unwrap().as_ref().unwrap().counts.long.load(Ordering::Relaxed);
            assert_eq!(counted, 2 * n, "there and back");
        }
    }
}

#[tokio::test]
async fn a_page_from_elsewhere_gets_nowhere_and_a_server_that_is_away_is_told() {
    let hindsight = Scripted::new(|_| None);
    let between = Between::new(Mode::Observe, &hindsight).await;
    let foreign = between.post(String::new()).header(header::HOST, "evil.example:80").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    between.end().await;

    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", nobody.local_addr().unwrap());
    drop(nobody);
    let proxy = HttpProxy::new(&url, settings(Mode::Observe), hindsight.memory()).unwrap();
    let request = http::Request::post("/mcp").body(Body::from("{}")).unwrap();
    let answer = proxy.shared.forward(request).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
}

#[test]
fn an_address_that_is_none_is_refused() {
    for url in ["", "localhost:80", "/mcp", "ftp://host/mcp", "http://"] {
        let refused = HttpProxy::new(url, settings(Mode::Observe), Memory::later().1).unwrap_err();
        assert!(refused.to_string().contains("http://HOST:PORT/PATH"), "{refused}");
    }
}

/// `cargo test -p hindsight-mcp -- --ignored --nocapture what_a_call_costs_over_http`
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and has no opinion"]
async fn what_a_call_costs_over_http() {
    let hindsight = Scripted::new(|_| None);
    for mode in [Mode::Observe, Mode::Annotate, Mode::Confirm] {
        let between = Between::new(mode, &hindsight).await;
        between.greet().await;
        let mut times = [Vec::new(), Vec::new()];
        for n in 0..2_000 {
            let body = call(n, "plain").to_string();
            for which in [n % 2, (n + 1) % 2] {
                let url = if which == 0 { &between.direct } else { &between.proxied };
                let begun = std::time::Instant::now();
                let sent =
                    between.http.post(url).header("mcp-session-id", "s-1").body(body.clone()).send().await;
                sent.unwrap().bytes().await.unwrap();
                times[usize::try_from(which).unwrap()].push(begun.elapsed());
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        between.end().await;
        for times in &mut times {
            times.sort_unstable();
        }
        for (name, place) in [("p50", 1_000), ("p99", 1_980)] {
            let (direct, proxied) = (times[0][place], times[1][place]);
            eprintln!("{mode:?} {name}: {direct:.2?} direct, {proxied:.2?} through the proxy");
        }
    }
}
