//! The client against a service of its own: in the process and over a socket, behind the real edge.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_api::{EdgeLayer, Key, KeyHash, Keyring, Permission, Permissions};
use hindsight_client::{Client, ConnectError, RetryPolicy};
use hindsight_proto::recall::v1::{
    ExplainRecallRequest, ExplainRecallResponse, RecallRequest, RecallResponse, ReportOutcomeRequest,
    ReportOutcomeResponse, WatchRequest, WatchResponse,
    recall_service_server::{RecallService, RecallServiceServer},
};
use hindsight_types::{Invalid, TenantId};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
};
use tonic::{Code, Request, Response, Status, service::Routes, transport::Server};
use tonic_types::{ErrorDetails, StatusExt};
use tower::Layer;

/// Fails in the way that the query names for `failures` calls, then answers with the tenant.
#[derive(Clone, Default)]
struct Moody {
    calls: Arc<AtomicU32>,
    failures: u32,
}

#[async_trait]
impl RecallService for Moody {
    async fn recall(&self, request: Request<RecallRequest>) -> Result<Response<RecallResponse>, Status> {
        let caller = hindsight_api::caller(&request)?;
        if self.calls.fetch_add(1, Ordering::SeqCst) >= self.failures {
            return Ok(Response::new(RecallResponse {
                block: caller.tenant.to_string(),
                ..Default::default()
            }));
        }
        match request.into_inner().query.as_str() {
            "away" => Err(Status::unavailable("gone for a moment")),
            "busy" => {
                let wait = ErrorDetails::with_retry_info(Some(Duration::from_millis(5)));
                Err(Status::with_error_details(Code::ResourceExhausted, "too much", wait))
            }
            "full" => Err(Status::resource_exhausted("message too large")),
            "slow" => std::future::pending().await,
            _ => {
                let problem = Invalid::new("query", "is required").and(Invalid::new("limit", "is too large"));
                Err(hindsight_api::status::invalid("recall", &problem))
            }
        }
    }

    type WatchStream = tokio_stream::Empty<Result<WatchResponse, Status>>;

    async fn watch(
        &self,
        _: Request<tonic::Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(tokio_stream::empty()))
    }

    async fn explain_recall(
        &self,
        _: Request<ExplainRecallRequest>,
    ) -> Result<Response<ExplainRecallResponse>, Status> {
        Ok(Response::new(ExplainRecallResponse::default()))
    }

    async fn report_outcome(
        &self,
        _: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        Ok(Response::new(ReportOutcomeResponse::default()))
    }
}

fn edge() -> EdgeLayer {
    EdgeLayer::new(Keyring::new(vec![Key {
        name: "test".to_owned(),
        hash: KeyHash::of("hs-good"),
        tenant: TenantId::new("acme").unwrap(),
        permissions: [Permission::Read].into_iter().collect::<Permissions>(),
    }]))
}

fn local(service: Moody, key: Option<&str>) -> Client {
    let routes = Routes::new(RecallServiceServer::new(service)).prepare();
    let policy = RetryPolicy { repeats: 3, first_pause: Duration::from_millis(1), ..RetryPolicy::default() };
    Client::local(edge().layer(routes), key.map(Into::into).as_ref()).unwrap().with_retry(policy)
}

async fn served(service: Moody) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    tokio::spawn(
        Server::builder()
            .layer(edge())
            .add_service(RecallServiceServer::new(service))
            .serve_with_incoming(incoming),
    );
    address
}

async fn remote(service: Moody, key: Option<&str>) -> Client {
    let endpoint = format!("http://{}", served(service).await);
    Client::remote(&endpoint, key.map(Into::into).as_ref()).unwrap()
}

fn query(text: &str) -> RecallRequest {
    RecallRequest { query: text.to_owned(), ..Default::default() }
}

#[tokio::test]
async fn local_and_remote_pass_the_same_edge() {
    for client in [local(Moody::default(), Some("hs-good")), remote(Moody::default(), Some("hs-good")).await]
    {
        assert_eq!(client.recall(query("x")).await.unwrap().block, "acme");
    }
    for client in [local(Moody::default(), None), remote(Moody::default(), None).await] {
        let error = client.recall(query("x")).await.unwrap_err();
        assert_eq!((error.code, error.reason.as_str()), (Code::Unauthenticated, "KEY_MISSING"));
        assert!(error.to_string().contains("authorization: Bearer KEY"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_or_busy_is_asked_again() {
    for mood in ["away", "busy"] {
        let service = Moody { failures: 2, ..Moody::default() };
        let client = local(service.clone(), Some("hs-good"));
        assert_eq!(client.recall(query(mood)).await.unwrap().block, "acme");
        assert_eq!(service.calls.load(Ordering::SeqCst), 3, "{mood}");
    }
}

#[tokio::test]
async fn repetition_ends() {
    let service = Moody { failures: u32::MAX, ..Moody::default() };
    let error = local(service.clone(), Some("hs-good")).recall(query("away")).await.unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert_eq!(service.calls.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn what_cannot_get_better_is_not_repeated_and_names_the_fields() {
    for (mood, text) in [("full", "message too large"), ("bad", "query: is required; limit: is too large")] {
        let service = Moody { failures: u32::MAX, ..Moody::default() };
        let error = local(service.clone(), Some("hs-good")).recall(query(mood)).await.unwrap_err();
        assert_eq!(error.to_string(), text);
        assert_eq!(service.calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_call_without_an_answer_ends_at_its_deadline() {
    let service = Moody { failures: u32::MAX, ..Moody::default() };
    let client = local(service.clone(), Some("hs-good")).with_deadline(Duration::from_millis(20));
    let error = client.recall(query("slow")).await.unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded);
    assert_eq!(service.calls.load(Ordering::SeqCst), 1, "a deadline is not tried again blindly");
}

/// Where a service is reached over connections the first of which breaks once so many bytes went to the
/// server, or came from it.
async fn breaking(to_server: u64, from_server: u64) -> String {
    let behind = served(Moody::default()).await;
    let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", front.local_addr().unwrap());
    tokio::spawn(async move {
        let (to_client, _) = front.accept().await.unwrap();
        let to_behind = TcpStream::connect(behind).await.unwrap();
        let ((from_client, mut to_client), (from_behind, mut to_behind)) =
            (to_client.into_split(), to_behind.into_split());
        let (mut up, mut down) = (from_client.take(to_server), from_behind.take(from_server));
        tokio::select! {
            _ = tokio::io::copy(&mut up, &mut to_behind) => {}
            _ = tokio::io::copy(&mut down, &mut to_client) => {}
        }
        drop((up, down, to_client, to_behind));
        loop {
            let (mut client, _) = front.accept().await.unwrap();
            let mut server = TcpStream::connect(behind).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    url
}

#[tokio::test]
async fn a_connection_may_break_at_any_byte() {
    const ALL: u64 = 1 << 20;
    // The preface has 24 bytes, the settings some tens, a request some hundreds.
    let cuts = [0, 1, 23, 24, 40, 80, 120, 160, 200, 300, 400, 500, 600];
    for (up, down) in cuts.iter().flat_map(|n| [(*n, ALL), (ALL, *n)]) {
        let url = breaking(up, down).await;
        let client = Client::remote(&url, Some(&"hs-good".into())).unwrap();
        // A cut beyond the end of the call is none: the next call meets it.
        for _ in 0..3 {
            let answer = client.recall(query("away")).await;
            assert!(answer.is_ok(), "cut after {up} up, {down} down: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::remote(&endpoint, None).unwrap().with_retry(RetryPolicy::none());
    let error = client.recall(query("x")).await.unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(matches!(Client::remote("localhost:1", None), Err(ConnectError::Endpoint { .. })));
    assert!(matches!(Client::remote(&endpoint, Some(&"a\nb".into())), Err(ConnectError::Key)));
}
