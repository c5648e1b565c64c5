use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use hindsight_client::Client;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tonic::{Status, body::Body};

use super::{HttpServer, MemoryServer, OpenError};
use crate::Memory;

/// A Hindsight that knows one key, or asks for none, and has nothing to tell.
#[derive(Clone)]
struct Keys {
    known: Option<&'static str>,
    /// What each call brought.
    seen: Arc<Mutex<Vec<Option<String>>>>,
}

impl Keys {
    fn new(known: Option<&'static str>) -> Self {
        Self { known, seen: Arc::default() }
    }

    fn client(&self) -> Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = this.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        Client::local(service, None).unwrap()
    }

    fn memory(&self) -> Memory {
        let (sender, memory) = Memory::later();
        sender.send_replace(Some(self.client()));
        memory
    }

    fn answer(&self, request: &Request<Body>) -> Response<Body> {
        let key = request.headers().get(header::AUTHORIZATION).map(|k| k.to_str().unwrap().to_owned());
        self.seen.lock().unwrap().push(key.clone());
        if self.known.is_some_and(|known| key != Some(format!("Bearer {known}"))) {
            return Status::unauthenticated("no such key").into_http();
        }
        let empty = Full::new(axum::body::Bytes::from_static(&[0; 5])).map_err(|never| match never {});
        let trailers = http::HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            "0".parse().unwrap(),
        )]);
        let body = empty.with_trailers(async { Some(Ok::<_, Status>(trailers)) });
        Response::builder().header(header::CONTENT_TYPE, "application/grpc").body(Body::new(body)).unwrap()
    }
}

async fn serve(address: &str, keys: &Keys) -> Result<SocketAddr, OpenError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind(address).await?;
    let port = listener.local_addr()?.port();
    let server =
        HttpServer::new(listener, keys.memory(), vec!["https://app.example.com:443".to_owned()]).await?;
    tokio::spawn(server.serve(std::future::pending()));
    Ok(SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Says hello with other headers; the status, and the session.
async fn greet(address: SocketAddr, headers: &[(&str, &str)]) -> (StatusCode, Option<String>) {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let answer = post(address, headers, &hello).await;
    let session = answer.headers().get("mcp-session-id").map(|s| s.to_str().unwrap().to_owned());
    (answer.status(), session)
}

async fn post(address: SocketAddr, headers: &[(&str, &str)], message: &Value) -> reqwest::Response {
    let request = reqwest::Client::new()
        .post(format!("http://{address}/mcp"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

#[tokio::test]
async fn other_machines_need_a_key_that_hindsight_knows() {
    let keys = Keys::new(Some("good"));
    let address = serve("0.0.0.0:0", &keys).await.unwrap();
    assert_eq!(greet(address, &[]).await.0, StatusCode::UNAUTHORIZED);
    for wrong in ["Bearer bad", "Bearer ", "Basic Z29vZA==", "good"] {
        assert_eq!(greet(address, &[("authorization", wrong)]).await.0, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let good = ("authorization", "bearer good");
    let (status, session) = greet(address, &[good]).await;
    assert_eq!(status, StatusCode::OK);
    let session = session.unwrap();
    let in_session = [good, ("mcp-session-id", &session)];
    let listed = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(address, &in_session, &ready).await.status(), StatusCode::ACCEPTED);
    let text = post(address, &in_session, &listed).await.text().await.unwrap();
    assert!(text.contains(r#""resources":[]"#), "{text}");
    assert_eq!(keys.seen.lock().unwrap().last().unwrap().as_deref(), Some("Bearer good"));
    // The session does not carry the key of who began it.
    let stolen = [("authorization", "Bearer bad"), ("mcp-session-id", &session)];
    let text = post(address, &stolen, &listed).await.text().await.unwrap();
    assert!(text.contains("no such key"), "{text}");
    let nameless = post(address, &[("mcp-session-id", &session)], &listed).await;
    assert_eq!(nameless.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_hindsight_without_keys_is_not_shown_to_other_machines() {
    let refused = serve("0.0.0.0:0", &Keys::new(None)).await.unwrap_err();
    assert!(matches!(refused, OpenError::NoKeys(_)) && refused.to_string().contains("key new"), "{refused}");
}

#[tokio::test]
async fn this_machine_needs_no_key_and_pages_from_elsewhere_are_refused() {
    let address = serve("127.0.0.1:0", &Keys::new(None)).await.unwrap();
    assert_eq!(greet(address, &[]).await.0, StatusCode::OK);
    assert_eq!(greet(address, &[("origin", "https://app.example.com")]).await.0, StatusCode::OK);
    for elsewhere in
        [("origin", "https://evil.example"), ("origin", "http://localhost:3000"), ("host", "evil.example")]
    {
        assert_eq!(greet(address, &[elsewhere]).await.0, StatusCode::FORBIDDEN, "{elsewhere:?}");
    }
}

#[test]
fn what_is_no_origin_is_refused() {
    for good in
        ["https://app.example.com", "https://app.example.com:443", "http://localhost:*", "http://[::1]:3000"]
    {
        assert_eq!(super::origin(good).unwrap(), good);
    }
    for wrong in [
        "",
        "foo",
        "null",
        "*",
        "app.example.com:443",
        "https://a.b/",
        "https://a.b/c",
        "https://u@a.b",
        "https://",
    ] {
        let said = super::origin(wrong).unwrap_err().to_string();
        assert!(said.contains("https://app.example.com:443"), "{said}");
    }
}

#[test]
fn a_model_is_told_what_each_tool_and_parameter_is() {
    let tools = MemoryServer::tool_router().list_all();
    let mut names: Vec<_> = tools.iter().map(|t| t.name.as_ref()).collect();
    names.sort_unstable();
    assert_eq!(names, ["explain", "recall_experience", "recall_user_memory", "report_outcome", "retain"]);
    for tool in &tools {
        assert!(tool.description.as_ref().is_some_and(|d| d.len() > 100), "{}", tool.name);
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for (name, schema) in properties {
            assert!(
                schema["description"].as_str().is_some_and(|d| !d.is_empty()),
                "{}.{name}: {schema}",
                tool.name
            );
        }
        assert!(!tool.input_schema["required"].as_array().unwrap().is_empty(), "{}", tool.name);
    }
    let prompts = MemoryServer::prompt_router().list_all();
    assert_eq!(prompts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["begin_task"]);
}
