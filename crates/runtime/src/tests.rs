use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_api::{EdgeLayer, Keyring};
use hindsight_types::TenantId;
use tokio::{net::TcpListener, sync::Notify};
use tokio_stream::StreamExt as _;
use tokio_util::sync::CancellationToken;
use tonic::{service::RoutesBuilder, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::{Exit, Role, RoleError, Running, RuntimeError, StopSignal, serve};

const LIMIT: Duration = Duration::from_secs(20);

/// How the background work of a [`Fake`] behaves.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// Stops when told to.
    Obedient,
    /// Fails this often, then obeys; every other time with a panic.
    Fails(u32),
    /// Never stops.
    Stubborn,
}

struct Fake {
    name: &'static str,
    work: Work,
    ready: AtomicBool,
    runs: AtomicU32,
    /// Makes an obedient role fail.
    fail: Notify,
    stopped: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait]
impl Role for Fake {
    fn name(&self) -> &'static str {
        self.name
    }

    fn service_names(&self) -> Vec<&'static str> {
        vec![self.name]
    }

    fn register(&self, _routes: &mut RoutesBuilder) {}

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        match self.work {
            Work::Fails(n) if run < n => {
                assert!(run.is_multiple_of(2), "every other failure is a panic");
                return Err(RoleError { role: self.name, reason: "on purpose".to_owned() });
            }
            Work::Stubborn => std::future::pending().await,
            _ => {}
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.fail.notified() => {
                return Err(RoleError { role: self.name, reason: "told to".to_owned() });
            }
        }
        self.stopped.lock().unwrap().push(self.name);
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        if self.ready.load(Ordering::SeqCst) { Ok(()) } else { Err("not yet".to_owned()) }
    }

    fn pending(&self) -> String {
        "2 deliveries".to_owned()
    }
}

#[derive(Default)]
struct Stage {
    roles: Vec<Arc<Fake>>,
    stopped: Arc<Mutex<Vec<&'static str>>>,
}

impl Stage {
    fn with(mut self, name: &'static str, work: Work, ready: bool) -> Self {
        let (ready, runs, fail) = (AtomicBool::new(ready), AtomicU32::new(0), Notify::new());
        self.roles.push(Arc::new(Fake { name, work, ready, runs, fail, stopped: self.stopped.clone() }));
        self
    }

    async fn start(&self, grace: Duration) -> Running {
        let roles = self.roles.iter().map(|r| r.clone() as Arc<dyn Role>).collect();
        let edge = EdgeLayer::new(Keyring::open(TenantId::new("default").unwrap()));
        Running::start(roles, edge, grace).await.unwrap()
    }

    fn stopped(&self) -> Vec<&'static str> {
        self.stopped.lock().unwrap().clone()
    }
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what}: not within {LIMIT:?}"))
}

/// Watches one service until it has that status.
macro_rules! until_health {
    ($client:expr, $service:expr, $status:expr) => {{
        let request = HealthCheckRequest { service: $service.to_owned() };
        let mut watch = $client.watch(request).await.unwrap().into_inner();
        within($service, async { while watch.next().await.unwrap().unwrap().status != $status as i32 {} })
            .await;
    }};
}

#[tokio::test]
async fn health_follows_each_role_and_the_whole() {
    let stage = Stage::default().with("a", Work::Obedient, true).with("b", Work::Obedient, false);
    let running = stage.start(LIMIT).await;
    let mut client = HealthClient::new(running.routes());
    let at_start = client.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(at_start.status(), ServingStatus::NotServing);

    until_health!(client, "a", ServingStatus::Serving);
    until_health!(client, "b", ServingStatus::NotServing);
    until_health!(client, "", ServingStatus::NotServing);
    stage.roles[1].ready.store(true, Ordering::SeqCst);
    until_health!(client, "b", ServingStatus::Serving);
    until_health!(client, "", ServingStatus::Serving);
    stage.roles[0].ready.store(false, Ordering::SeqCst);
    until_health!(client, "a", ServingStatus::NotServing);
    until_health!(client, "", ServingStatus::NotServing);

    stage.roles[0].ready.store(true, Ordering::SeqCst);
    until_health!(client, "", ServingStatus::Serving);
    assert_eq!(within("stop", running.stop()).await, Exit::Clean);
    until_health!(client, "b", ServingStatus::NotServing);
}

#[tokio::test]
async fn roles_stop_in_the_order_given() {
    let stage = Stage::default()
        .with("source", Work::Obedient, true)
        .with("sink", Work::Obedient, true)
        .with("last", Work::Obedient, true);
    let running = stage.start(LIMIT).await;
    assert_eq!(within("stop", running.stop()).await, Exit::Clean);
    assert_eq!(stage.stopped(), ["source", "sink", "last"]);
}

#[tokio::test]
async fn a_role_that_fails_or_panics_is_started_again() {
    let stage = Stage::default().with("shaky", Work::Fails(2), true).with("calm", Work::Obedient, true);
    let running = stage.start(LIMIT).await;
    within("restarts", async {
        while stage.roles[0].runs.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(stage.roles[1].runs.load(Ordering::SeqCst), 1, "the others are left alone");
    assert_eq!(within("stop", running.stop()).await, Exit::Clean);
    assert_eq!(stage.stopped(), ["shaky", "calm"]);
}

#[tokio::test]
async fn a_role_is_not_ready_from_its_failure_until_it_runs_again() {
    let stage = Stage::default().with("a", Work::Obedient, true);
    let running = stage.start(LIMIT).await;
    let mut client = HealthClient::new(running.routes());
    until_health!(client, "a", ServingStatus::Serving);
    let request = HealthCheckRequest { service: "a".to_owned() };
    let watch = client.watch(request).await.unwrap().into_inner();
    stage.roles[0].fail.notify_one();
    let seen = within("three changes", watch.take(3).map(|s| s.unwrap().status()).collect::<Vec<_>>()).await;
    assert_eq!(seen, [ServingStatus::Serving, ServingStatus::NotServing, ServingStatus::Serving]);
}

#[tokio::test]
async fn a_role_that_waits_to_be_started_again_stops_at_once() {
    let stage = Stage::default().with("broken", Work::Fails(u32::MAX), true);
    let running = stage.start(LIMIT).await;
    assert_eq!(within("stop", running.stop()).await, Exit::Clean);
}

#[tokio::test]
async fn what_does_not_stop_is_cut_when_the_grace_period_ends() {
    let stage = Stage::default().with("stubborn", Work::Stubborn, true).with("sink", Work::Obedient, true);
    let running = stage.start(Duration::from_millis(300)).await;
    assert_eq!(within("stop", running.stop()).await, Exit::GraceExpired);
    assert!(stage.stopped().is_empty(), "the sink may not stop before its source");
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

async fn connect(url: &str) -> Result<Channel, tonic::transport::Error> {
    Channel::from_shared(url.to_owned()).unwrap().connect().await
}

#[tokio::test]
async fn open_watches_and_idle_connections_do_not_hold_up_a_stop() {
    let stage = Stage::default().with("a", Work::Obedient, true);
    let (listener, url) = listener().await;
    let stop = StopSignal::default();
    let server = tokio::spawn(serve(stage.start(LIMIT).await, listener, stop.clone()));
    let _idle = connect(&url).await.unwrap();
    let mut client = HealthClient::new(connect(&url).await.unwrap());
    until_health!(client, "a", ServingStatus::Serving);
    let request = HealthCheckRequest { service: "a".to_owned() };
    let mut watch = client.watch(request).await.unwrap().into_inner();
    assert_eq!(watch.next().await.unwrap().unwrap().status(), ServingStatus::Serving);

    stop.request();
    assert_eq!(watch.next().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert_eq!(within("serve", server).await.unwrap().unwrap(), Exit::Clean);
    assert_eq!(stage.stopped(), ["a"]);
    assert!(connect(&url).await.is_err(), "nothing listens any more");
}

#[tokio::test]
async fn the_second_request_stops_at_once() {
    let stage = Stage::default().with("stubborn", Work::Stubborn, true);
    let (listener, _url) = listener().await;
    let stop = StopSignal::default();
    let server = tokio::spawn(serve(stage.start(Duration::from_secs(3600)).await, listener, stop.clone()));
    stop.request();
    stop.request();
    let exit = within("serve", server).await.unwrap().unwrap();
    assert_eq!(exit, Exit::Interrupted);
    assert_ne!(exit.code(), 0);
}

#[tokio::test]
async fn the_network_is_refused_without_keys() {
    let stage = Stage::default().with("a", Work::Obedient, true);
    let open = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = serve(stage.start(LIMIT).await, open, StopSignal::default()).await.unwrap_err();
    assert!(matches!(error, RuntimeError::OpenToNetwork(_)), "{error}");

    let keys = EdgeLayer::new(Keyring::new(Vec::new()));
    let running = Running::start(Vec::new(), keys, LIMIT).await.unwrap();
    let stop = StopSignal::default();
    stop.request();
    let open = TcpListener::bind("0.0.0.0:0").await.unwrap();
    assert_eq!(within("serve", serve(running, open, stop)).await.unwrap(), Exit::Clean);
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_versions() {
    let running = Stage::default().start(LIMIT).await;
    let expected = ["grpc.health.v1.Health", "hindsight.collector.v1.CollectorService"];

    let ask = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(String::new())),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(running.routes());
    let mut answers = client.server_reflection_info(tokio_stream::once(ask)).await.unwrap().into_inner();
    let answer = format!("{:?}", answers.next().await.unwrap().unwrap());
    assert!(expected.iter().all(|name| answer.contains(name)), "{answer}");

    let ask = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::ListServices(String::new()),
        ),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(running.routes());
    let mut answers = client.server_reflection_info(tokio_stream::once(ask)).await.unwrap().into_inner();
    let answer = format!("{:?}", answers.next().await.unwrap().unwrap());
    assert!(expected.iter().all(|name| answer.contains(name)), "{answer}");
}

/// Status and body of a GET, spoken by hand.
async fn get(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: probe\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn probes_say_which_role_is_not_ready_and_why() {
    let probes = crate::Probes::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _admin = crate::admin::serve(listener, crate::admin::router(probes.clone()));
    probes.starting("the model".to_owned());
    assert_eq!(get(address, "/livez").await.0, 200);
    let (status, body) = get(address, "/startupz").await;
    assert!(status == 503 && body.contains("the model"), "{body}");

    let stage = Stage::default().with("a", Work::Obedient, true).with("b", Work::Obedient, false);
    let roles = stage.roles.iter().map(|r| r.clone() as Arc<dyn Role>).collect();
    let edge = EdgeLayer::new(Keyring::open(TenantId::new("default").unwrap()));
    let running = Running::start_with(roles, edge, LIMIT, probes).await.unwrap();
    let started = async { while get(address, "/startupz").await.0 != 200 {} };
    within("started", started).await;
    let (status, body) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["roles"][0], serde_json::json!({ "role": "a", "ready": true }));
    assert_eq!(body["roles"][1]["reason"], "not yet");

    stage.roles[1].ready.store(true, Ordering::SeqCst);
    within("ready", async { while get(address, "/readyz").await.0 != 200 {} }).await;
    assert_eq!(get(address, "/nothing").await.0, 404);
    running.stop().await;
    assert_eq!((get(address, "/readyz").await.0, get(address, "/livez").await.0), (503, 200));
}
