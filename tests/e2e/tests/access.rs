//! Who may do what over the wire: keys, permissions, tenants, users, and the door to the network.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use hindsight_e2e::{Key, Kind, Server, keys, trajectory};
use hindsight_proto::{
    collector::v1::{
        Consistency, RetainRequest, SubmitTrajectoryRequest, collector_service_client::CollectorServiceClient,
    },
    common::v1::MemoryKind,
    memory::v1::{
        GetStatsRequest, GetStatsResponse, GetTrajectoryRequest, memory_service_client::MemoryServiceClient,
    },
    recall::v1::{RecallRequest, RecallResponse, recall_service_client::RecallServiceClient},
};
use tempfile::TempDir;
use tonic::{
    Code, Request, Status,
    metadata::MetadataValue,
    service::{Interceptor, interceptor::InterceptedService},
    transport::Channel,
};
use tonic_types::StatusExt as _;

const ACME: Key = Key { secret: "acme-secret", tenant: "acme", permissions: "[\"read\", \"write\"]" };
const GLOBEX: Key = Key { secret: "globex-secret", tenant: "globex", permissions: "[\"read\", \"write\"]" };
const READER: Key = Key { secret: "reader-secret", tenant: "acme", permissions: "[\"read\"]" };

/// Shows a key with every call.
#[derive(Clone)]
struct Shows(&'static str);

impl Interceptor for Shows {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if !self.0.is_empty() {
            let value: MetadataValue<_> = format!("Bearer {}", self.0).parse().unwrap();
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

/// A caller with its key.
struct Client(InterceptedService<Channel, Shows>);

impl Client {
    async fn of(server: &Server, secret: &'static str) -> Self {
        Self(InterceptedService::new(server.channel().await, Shows(secret)))
    }

    async fn submit(&self, trace: &str) -> Result<(), Status> {
        let trajectory = Some(trajectory(trace, 8, Kind::Judged));
        let request = SubmitTrajectoryRequest { trajectory, consistency: Consistency::Indexed as i32 };
        CollectorServiceClient::new(self.0.clone()).submit_trajectory(request).await.map(drop)
    }

    async fn trajectory(&self, trace: &str) -> Result<usize, Status> {
        let request = GetTrajectoryRequest { trace_id: trace.to_owned(), ..GetTrajectoryRequest::default() };
        let found = MemoryServiceClient::new(self.0.clone()).get_trajectory(request).await?.into_inner();
        Ok(found.trajectory.map_or(0, |t| t.steps.len()))
    }

    async fn retain(&self, user: &str, content: &str) -> Result<(), Status> {
        let request = RetainRequest {
            user: user.to_owned(),
            content: content.to_owned(),
            consistency: Consistency::Indexed as i32,
            ..RetainRequest::default()
        };
        CollectorServiceClient::new(self.0.clone()).retain(request).await.map(drop)
    }

    async fn recall(&self, user: &str, query: &str, kinds: &[MemoryKind]) -> RecallResponse {
        let request = RecallRequest {
            query: query.to_owned(),
            user: user.to_owned(),
            kinds: kinds.iter().map(|k| *k as i32).collect(),
            strict: true,
            ..RecallRequest::default()
        };
        RecallServiceClient::new(self.0.clone()).recall(request).await.unwrap().into_inner()
    }

    async fn stats(&self, user: &str) -> GetStatsResponse {
        let request = GetStatsRequest { user: user.to_owned() };
        MemoryServiceClient::new(self.0.clone()).get_stats(request).await.unwrap().into_inner()
    }
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap_or_else(|| panic!("no ErrorInfo: {status:?}")).reason
}

#[tokio::test]
async fn keys_open_their_tenant_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.path(), &[keys(&[ACME, GLOBEX, READER])]).await;
    let acme = Client::of(&server, ACME.secret).await;
    let globex = Client::of(&server, GLOBEX.secret).await;
    let reader = Client::of(&server, READER.secret).await;

    for (secret, expected) in [("", "KEY_MISSING"), ("guess", "KEY_UNKNOWN")] {
        let status = Client::of(&server, secret).await.trajectory("t-1").await.unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::Unauthenticated, expected));
    }

    acme.submit("t-1").await.unwrap();
    let status = reader.submit("t-2").await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::PermissionDenied, "PERMISSION_MISSING"));

    let goal = "service t-1 keeps restarting";
    assert_eq!(acme.trajectory("t-1").await.unwrap(), 8);
    assert_eq!(reader.trajectory("t-1").await.unwrap(), 8);
    assert!(!reader.recall("", goal, &[MemoryKind::Experience]).await.items.is_empty());

    assert_eq!(globex.trajectory("t-1").await.unwrap_err().code(), Code::NotFound);
    let nothing = globex.recall("", goal, &[MemoryKind::Experience]).await;
    assert!(nothing.items.is_empty() && !nothing.empty_reason.is_empty());
    assert_eq!(globex.stats("").await, GetStatsResponse::default());

    // The same name in another tenant is another run.
    globex.submit("t-1").await.unwrap();
    assert_eq!((acme.stats("").await.experiences, globex.stats("").await.experiences), (1, 1));
}

#[tokio::test]
async fn what_a_user_says_stays_with_the_user() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.path(), &[keys(&[ACME, GLOBEX])]).await;
    let acme = Client::of(&server, ACME.secret).await;
    let globex = Client::of(&server, GLOBEX.secret).await;
    acme.retain("ann", "I prefer the window seat on the train. 我喜欢靠窗的座位").await.unwrap();

    for query in ["window seat on the train", "靠窗的座位"] {
        let found = acme.recall("ann", query, &[MemoryKind::Fact]).await;
        assert_eq!(found.items.len(), 1, "{query}: {}", found.empty_reason);
        for (client, user) in [(&acme, "bob"), (&acme, ""), (&globex, "ann")] {
            assert!(client.recall(user, query, &[]).await.items.is_empty(), "{user}: {query}");
        }
    }
    assert_eq!((acme.stats("ann").await.facts, acme.stats("bob").await.facts), (1, 0));
}

#[tokio::test]
async fn the_network_is_not_served_without_keys() {
    let dir = TempDir::new().unwrap();
    let (exit, log) = Server::refused(dir.path(), "0.0.0.0:0", &[]).await;
    assert!(!exit.success());
    assert!(log.contains("auth") && log.contains("127.0.0.1"), "says what to do: {log}");
}
