use std::convert::Infallible;

use hindsight_types::TenantId;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use rstest::rstest;
use tonic::{Code, Status, body::Body, service::Routes};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

use super::*;
use crate::{Caller, Key, KeyHash, Permission};

fn layer() -> EdgeLayer {
    EdgeLayer::new(Keyring::new(vec![Key {
        name: "ci".to_owned(),
        hash: KeyHash::of("k-one"),
        tenant: TenantId::new("acme").unwrap(),
        permissions: Permission::ALL.into_iter().collect(),
    }]))
}

/// Answers with the tenant it was called by, or panics when asked to.
async fn handler(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    assert_ne!(request.uri().path(), "/hindsight.t.v1.T/Panic", "asked to");
    let tenant = request.extensions().get::<Caller>().map_or("nobody".to_owned(), |c| c.tenant.to_string());
    Ok(Response::builder().header("tenant", tenant).body(Body::empty()).unwrap())
}

async fn call(path: &str, headers: &[(&str, &str)]) -> Response<TracedBody<Body>> {
    let mut request = Request::builder().uri(path);
    for (k, v) in headers {
        request = request.header(*k, *v);
    }
    let mut service = layer().layer(service_fn(handler));
    service.ready().await.unwrap().call(request.body(Body::empty()).unwrap()).await.unwrap()
}

fn code<B>(response: &Response<B>) -> Option<Code> {
    Status::from_header_map(response.headers()).map(|s| s.code())
}

#[tokio::test]
async fn the_tenant_comes_from_the_key() {
    let response = call("/hindsight.t.v1.T/Get", &[("authorization", "Bearer k-one")]).await;
    assert_eq!(response.headers()["tenant"], "acme");
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[rstest]
#[case("/hindsight.t.v1.T/Get")]
#[case("/grpc.healthy/Get")]
#[case("/")]
#[tokio::test]
async fn without_a_key_nothing_is_reached(#[case] path: &str) {
    let response = call(path, &[]).await;
    assert_eq!(code(&response), Some(Code::Unauthenticated));
    assert!(response.headers().get("tenant").is_none());
}

#[rstest]
#[case("/grpc.health.v1.Health/Check")]
#[case("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")]
#[case("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")]
#[tokio::test]
async fn health_and_reflection_need_no_key(#[case] path: &str) {
    let response = call(path, &[]).await;
    assert_eq!(response.headers()["tenant"], "nobody");
}

#[tokio::test]
async fn a_panic_is_an_internal_error() {
    let response = call("/hindsight.t.v1.T/Panic", &[("authorization", "Bearer k-one")]).await;
    assert_eq!(code(&response), Some(Code::Internal));
}

#[tokio::test]
async fn request_ids_are_kept_or_made() {
    let key = ("authorization", "Bearer k-one");
    let kept = call("/hindsight.t.v1.T/Get", &[key, ("x-request-id", "abc-1")]).await;
    assert_eq!(kept.headers()[REQUEST_ID], "abc-1");
    let long = "x".repeat(65);
    for bad in ["", "a b", long.as_str()] {
        let made = call("/hindsight.t.v1.T/Get", &[key, ("x-request-id", bad)]).await;
        assert_eq!(made.headers()[REQUEST_ID].len(), 36, "{bad:?}");
    }
}

#[tokio::test]
async fn it_wraps_the_routes_of_a_server() {
    let (_reporter, health) = tonic_health::server::health_reporter();
    let router = Routes::new(health).into_axum_router().layer(layer());
    let mut client = HealthClient::new(Routes::from(router));
    let answer = client.check(HealthCheckRequest { service: String::new() }).await.unwrap();
    assert_eq!(answer.into_inner().status, 1);
    let unknown = client.check(HealthCheckRequest { service: "x".to_owned() }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn who_does_not_speak_grpc_is_refused_in_http() {
    assert_eq!(call("/v1/metrics", &[]).await.status(), 401);
    let grpc = call("/hindsight.t.v1.T/Get", &[("content-type", "application/grpc")]).await;
    assert_eq!((grpc.status().as_u16(), code(&grpc)), (200, Some(Code::Unauthenticated)));
    let panicked = call("/hindsight.t.v1.T/Panic", &[("authorization", "Bearer k-one")]).await;
    assert_eq!(panicked.status(), 500);
}

#[tokio::test]
async fn the_handler_of_traces_answers_who_is_refused() {
    let handler = async |request: Request<Body>| {
        assert_eq!(request.extensions().get::<Caller>(), None);
        let refusal = request.extensions().get::<crate::Refusal>().map(|r| r.0.code());
        assert_eq!(refusal, Some(Code::Unauthenticated));
        Ok::<_, Infallible>(Response::new(Body::empty()))
    };
    let mut service = layer().layer(service_fn(handler));
    let request = Request::builder().uri(crate::OTLP_PATH).body(Body::empty()).unwrap();
    assert_eq!(service.ready().await.unwrap().call(request).await.unwrap().status(), 200);
}
