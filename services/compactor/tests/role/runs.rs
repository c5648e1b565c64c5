//! `CompactorService` as an operator calls it.

use std::{sync::Arc, time::Duration};

use hindsight_api::{Edge, EdgeLayer, Keyring};
use hindsight_compactor::{CompactionParts, Compactor, RunSettings};
use hindsight_lifecycle::plan::ByTenant;
use hindsight_ports::{MemoryStore as _, testkit::samples};
use hindsight_proto::{
    common::v1::{CompactionPolicy as Policy, CompactionRunState as State},
    compactor::v1::{
        GetRunRequest, ListPoliciesRequest, ListRunsRequest, RunCompactionRequest,
        compactor_service_client::CompactorServiceClient,
    },
};
use hindsight_runtime::Role as _;
use hindsight_types as types;
use tonic::{
    Code,
    service::{Routes, RoutesBuilder},
};
use tower::Layer as _;
use uuid::Uuid;

use crate::support::{House, keys, run, until, with_key};

const ADMIN: &str = "acme-admin";
const RIVAL: &str = "rival-admin";

fn policies() -> ByTenant {
    let mut policies = ByTenant::default();
    let mut timing = policies.all.timing(types::Policy::Archive).unwrap().clone();
    timing.enabled = false;
    policies.all.set_timing(types::Policy::Archive, timing);
    policies
}

fn compacting(house: &House) -> Arc<Compactor> {
    let parts = CompactionParts {
        upkeep: house.vectors.clone(),
        archive: house.vectors.clone(),
        compactions: house.vectors.clone(),
        ledger: house.vectors.clone(),
        evidence: Arc::default(),
        policies: Arc::new(policies()),
        runs: RunSettings { every: Duration::from_millis(20), ..RunSettings::default() },
    };
    Arc::new(house.bare().compacting(parts))
}

fn client(compactor: &Compactor) -> CompactorServiceClient<Edge<Routes>> {
    let mut routes = RoutesBuilder::default();
    compactor.register(&mut routes);
    CompactorServiceClient::new(EdgeLayer::new(Keyring::new(keys())).layer(routes.routes()))
}

fn asked(policies: &[Policy], dry_run: bool, request_id: &str) -> RunCompactionRequest {
    let policies = policies.iter().map(|policy| (*policy).into()).collect();
    RunCompactionRequest { policies, dry_run, request_id: request_id.to_owned() }
}

/// Old events of runs that nobody judged.
async fn aged() -> House {
    let house = House::new().await;
    let scope = samples::shared(&samples::tenant("acme"));
    let events: Vec<_> =
        (0..60).map(|n| samples::started(&scope, &samples::trace(&format!("t-{n}")))).collect();
    house.store.append_events(&events).await.unwrap();
    house.clock.set(samples::time(30 * 86_400).as_second());
    house
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_asked_for_is_planned_once_and_shown_to_its_tenant_alone() {
    let house = aged().await;
    let compactor = compacting(&house);
    let mut client = client(&compactor);
    let dry = client.run_compaction(with_key(ADMIN, asked(&[Policy::RawEvents], true, ""))).await.unwrap();
    let dry = dry.into_inner();
    assert_eq!((dry.runs.len(), dry.plans[0].tasks.len(), dry.plans[0].cut), (0, 2, false));
    assert!(dry.plans[0].tasks.iter().all(|task| task.id.is_empty() && !task.why.is_empty()));

    let request =
        asked(&[Policy::RawEvents, Policy::RawEvents], false, "9f9c7e2e-0000-4000-8000-000000000001");
    let first = client.run_compaction(with_key(ADMIN, request.clone())).await.unwrap().into_inner().runs;
    let again = client.run_compaction(with_key(ADMIN, request)).await.unwrap().into_inner().runs;
    assert_eq!((first.len(), again.len()), (1, 1));
    assert_eq!(first[0].id, again[0].id);

    let running = run(compactor.clone());
    let get = |id: &str| GetRunRequest { id: id.to_owned(), page_size: 1, page_token: String::new() };
    let id = first[0].id.clone();
    let shown = until("its tasks are given to the workers", || {
        let (mut client, request) = (client.clone(), with_key(ADMIN, get(&id)));
        async move {
            let shown = client.get_run(request).await.unwrap().into_inner();
            (shown.run.as_ref().unwrap().state() == State::Working).then_some(shown)
        }
    })
    .await;
    assert_eq!((shown.run.unwrap().planned, shown.tasks.len()), (2, 1));
    assert!(!shown.next_page_token.is_empty());
    running.stop().await;

    let hidden = client.get_run(with_key(RIVAL, get(&id))).await.unwrap_err();
    assert_eq!(hidden.code(), Code::NotFound);
    let list = |key| with_key(key, ListRunsRequest::default());
    assert_eq!(client.list_runs(list(RIVAL)).await.unwrap().into_inner().runs.len(), 0);
    assert_eq!(client.list_runs(list(ADMIN)).await.unwrap().into_inner().runs.len(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_shown_as_they_are_set() {
    let house = aged().await;
    let mut client = client(&compacting(&house));
    client.run_compaction(with_key(ADMIN, asked(&[Policy::Merge], false, ""))).await.unwrap();
    let listed = client.list_policies(with_key(ADMIN, ListPoliciesRequest {})).await.unwrap().into_inner();
    assert_eq!(listed.policies.len(), types::Policy::ALL.len());
    for shown in listed.policies {
        assert!(!shown.description.is_empty() && !shown.schedule.is_empty());
        let off = shown.policy() == Policy::Archive;
        assert_eq!((shown.enabled, shown.next_at.is_some()), (!off, !off));
        assert_eq!(shown.last_run.is_some(), shown.policy() == Policy::Merge);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_with_its_reason() {
    let house = House::new().await;
    let mut client = client(&compacting(&house));
    let run = async |key: &str, request| client.clone().run_compaction(with_key(key, request)).await;
    assert_eq!(run("acme-reader", asked(&[], true, "")).await.unwrap_err().code(), Code::PermissionDenied);
    let off = run(ADMIN, asked(&[Policy::Archive], false, "")).await.unwrap_err();
    assert_eq!(off.code(), Code::FailedPrecondition);
    assert!(off.message().contains("compaction.archive.enabled"), "{off}");
    let long = run(ADMIN, asked(&[], false, &"x".repeat(37))).await.unwrap_err();
    assert_eq!(long.code(), Code::InvalidArgument);
    let unknown = RunCompactionRequest { policies: vec![99], ..RunCompactionRequest::default() };
    let unknown = run(ADMIN, unknown).await.unwrap_err();
    assert!(
        unknown.code() == Code::InvalidArgument && unknown.message().contains("policies[0]"),
        "{unknown}"
    );
    let all = run(ADMIN, asked(&[], true, "")).await.unwrap().into_inner();
    assert_eq!(all.plans.len(), types::Policy::ALL.len() - 1, "all that are on");
    let get = |id: String| GetRunRequest { id, page_size: 0, page_token: String::new() };
    let garbled = client.get_run(with_key(ADMIN, get("run".to_owned()))).await.unwrap_err();
    assert_eq!(garbled.code(), Code::InvalidArgument);
    let gone = client.get_run(with_key(ADMIN, get(Uuid::from_u128(7).to_string()))).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
    house.close().await;
}
