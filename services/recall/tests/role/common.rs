//! The role over a real store in a temporary directory, with a store between that fails on purpose, called
//! through its gRPC services.

use std::{path::Path, sync::Arc, time::Duration};

use hindsight_api::{Caller, Permission, Permissions};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_embed::HashingEmbedder;
use hindsight_forgetting::{Files, Forgetter};
use hindsight_ports::{Clock, Embedder, MemoryStore, Reranker, testkit::faulty_store::FaultyStore};
use hindsight_proto::{
    memory::v1::memory_service_client::MemoryServiceClient,
    recall::v1::{RecallRequest, RecallResponse, recall_service_client::RecallServiceClient},
};
use hindsight_recall::{Care, Recall, RecallSettings};
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::*;
use tonic::{
    Request, Status,
    service::{Routes, RoutesBuilder, interceptor::InterceptedService},
};

pub(crate) type Interceptor = Box<dyn FnMut(Request<()>) -> Result<Request<()>, Status> + Send + Sync>;
pub(crate) type Transport = InterceptedService<Routes, Interceptor>;

pub(crate) struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        time(0)
    }
}

/// `days` after the moment at which the tests take place.
pub(crate) fn time(days: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + days * 86_400).unwrap()
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub(crate) struct World {
    pub(crate) store: Arc<FaultyStore>,
    /// The same store.
    pub(crate) vectors: Arc<Store>,
    pub(crate) role: Recall,
    _dir: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_embedder(Arc::new(HashingEmbedder::default())).await
    }

    pub(crate) async fn with_embedder(embedder: Arc<dyn Embedder>) -> Self {
        let mut settings = RecallSettings::default();
        // What is not about chance leaves nothing to it.
        settings.rank.serving = settings.rank.serving.certain();
        // Nor to how busy the machine is.
        settings.watch.deadline = Duration::from_secs(30);
        Self::with(settings, embedder).await
    }

    pub(crate) async fn with_settings(settings: RecallSettings) -> Self {
        Self::with(settings, Arc::new(HashingEmbedder::default())).await
    }

    async fn with(settings: RecallSettings, embedder: Arc<dyn Embedder>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let vectors = Arc::new(Store::new(backend, StoreOptions::default()));
        vectors.prepare(embedder.id()).await.unwrap();
        let store = Arc::new(FaultyStore::new(vectors.clone(), 1));
        let role = Recall::new(settings, store.clone(), embedder, Arc::new(Fixed));
        let role = role.knowing(vectors.clone()).caring(care(&vectors, dir.path()));
        Self { store, vectors, role, _dir: dir }
    }

    pub(crate) async fn with_reranker(reranker: Arc<dyn Reranker>) -> Self {
        let world = Self::new().await;
        Self { role: world.role.with_reranker(reranker), ..world }
    }

    pub(crate) async fn remember(&self, memories: Vec<Memory>) {
        let encoded =
            hindsight_ingest::encode::memories(&HashingEmbedder::default(), memories).await.unwrap();
        self.store.upsert(&encoded).await.unwrap();
    }

    fn transport(&self, tenant: &str, permissions: Permissions) -> Transport {
        let mut routes = RoutesBuilder::default();
        self.role.register(&mut routes);
        let caller = Caller { tenant: self::tenant(tenant), permissions, key: "test".into() };
        let identify: Interceptor = Box::new(move |mut request| {
            request.extensions_mut().insert(caller.clone());
            Ok(request)
        });
        InterceptedService::new(routes.routes(), identify)
    }

    pub(crate) fn recalls(&self, tenant: &str) -> RecallServiceClient<Transport> {
        RecallServiceClient::new(self.transport(tenant, Permissions::all()))
    }

    pub(crate) fn recalls_with(
        &self,
        tenant: &str,
        permission: Permission,
    ) -> RecallServiceClient<Transport> {
        RecallServiceClient::new(self.transport(tenant, [permission].into_iter().collect()))
    }

    pub(crate) fn recalls_without_permission(&self, tenant: &str) -> RecallServiceClient<Transport> {
        RecallServiceClient::new(self.transport(tenant, Permissions::default()))
    }

    pub(crate) fn memories(&self, tenant: &str) -> MemoryServiceClient<Transport> {
        MemoryServiceClient::new(self.transport(tenant, Permissions::all()))
    }

    pub(crate) fn memories_with(
        &self,
        tenant: &str,
        permission: Permission,
    ) -> MemoryServiceClient<Transport> {
        MemoryServiceClient::new(self.transport(tenant, [permission].into_iter().collect()))
    }

    /// Generous: these tests are not about time.
    pub(crate) async fn recall(&self, request: RecallRequest) -> Result<RecallResponse, Status> {
        self.recall_within(request, Duration::from_secs(60)).await
    }

    pub(crate) async fn recall_within(
        &self,
        request: RecallRequest,
        patience: Duration,
    ) -> Result<RecallResponse, Status> {
        let mut request = Request::new(request);
        request.set_timeout(patience);
        Ok(self.recalls("acme").recall(request).await?.into_inner())
    }
}

fn care(store: &Arc<Store>, dir: &Path) -> Care {
    let forgetter = Forgetter {
        forget: store.clone(),
        bus: Arc::new(LocalBus::open(&dir.join("bus.db"), LocalBusOptions::default()).unwrap()),
        clock: Arc::new(Fixed),
        store_files: Files::OutOfReach("not looked at here"),
        queue_files: Files::OutOfReach("not looked at here"),
    };
    Care {
        forgetter: Some(forgetter),
        history: Some(store.clone()),
        subjects: Some(store.clone()),
        browse: Some(store.clone()),
        transfer: Some(store.clone()),
        archive: Some(store.clone()),
        forget: Some(store.clone()),
        ledger: Some(store.clone()),
        ..Care::default()
    }
}

pub(crate) fn ask(query: &str) -> RecallRequest {
    RecallRequest { query: query.to_owned(), ..RecallRequest::default() }
}

pub(crate) fn fact(tenant: &str, user: &str, key: &str, content: &str) -> Memory {
    let (tenant, user) = (self::tenant(tenant), UserId::new(user).unwrap());
    Memory::Fact(Fact::new(&tenant, user, key, content, time(-1)))
}

/// A run that everyone in `acme` may see: one dead end, two necessary steps.
pub(crate) fn run(trace: &str, task: &str) -> Experience {
    let scope = Scope::new(tenant("acme"), Visibility::Tenant);
    let step = |index: u32, name: &str, observation: &str| Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: name.to_owned(),
        action_detail: "api".to_owned(),
        observation: observation.to_owned(),
        status: StepStatus::Ok,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    };
    let verdict = |index: u32, label| StepEvaluation {
        step_index: index,
        label,
        rationale: "by its effect".to_owned(),
        confidence: 0.9,
        depends_on: vec![],
        votes: vec![],
    };
    let trace_id = TraceId::new(trace).unwrap();
    Experience {
        id: MemoryId::experience(&scope.tenant, &trace_id),
        trajectory: Trajectory {
            trace_id,
            scope,
            session: None,
            user: None,
            agent: None,
            task_type: None,
            task_description: task.to_owned(),
            steps: vec![
                step(0, "restart_container", "still restarting"),
                step(1, "read_logs", "OOMKilled"),
                step(2, "set_memory_limit", "healthy"),
            ],
            outcome: Outcome {
                status: OutcomeStatus::Success,
                evidence: vec![],
                conclusion: "the limit was too low".to_owned(),
            },
            environment: Environment::default(),
            receipts: vec![],
            started_at: time(-3),
            ended_at: time(-2),
        },
        evaluation: Evaluation {
            judge: "slice/1".to_owned(),
            steps: vec![
                verdict(0, StepLabel::Misleading),
                verdict(1, StepLabel::Necessary),
                verdict(2, StepLabel::Necessary),
            ],
            outcome: OutcomeStatus::Success,
            outcome_confidence: 1.0,
            outcome_evidence: vec![],
            contradictions: vec![],
            summary: "Raised the memory limit.".to_owned(),
            worth_reference: true,
            rejected_lessons: vec![],
            evaluated_at: time(-2),
            judging: Default::default(),
        },
        entities: vec![],
        supported: 0,
        refuted: 0,
    }
}

pub(crate) fn experience(trace: &str, task: &str) -> Memory {
    Memory::Experience(Box::new(run(trace, task)))
}

/// Advice that everyone in `acme` may see.
pub(crate) fn lesson(key: &str, situation: &str, stage: Stage) -> Memory {
    let scope = Scope::new(tenant("acme"), Visibility::Tenant);
    Memory::Lesson(Lesson {
        id: MemoryId::lesson(&scope.tenant, &scope.visibility.keyword(), key),
        scope,
        key: key.to_owned(),
        situation: situation.to_owned(),
        advice: "read the last lines of its log before restarting it".to_owned(),
        applicability: "where containers are watched".to_owned(),
        basis: Decision {
            chosen: "read_logs".to_owned(),
            rejected: vec!["restart_container".to_owned()],
            rationale: "a restart hides the cause".to_owned(),
        },
        result: "the cause was found".to_owned(),
        task_type: None,
        environment: Environment::default(),
        entities: vec![],
        stage,
        source_outcome: OutcomeStatus::Success,
        sources: vec![TraceId::new("t-1").unwrap()],
        supported: 0,
        refuted: 0,
        created_at: time(-2),
        last_supported_at: time(-2),
        revision: None,
    })
}
