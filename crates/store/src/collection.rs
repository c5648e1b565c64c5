use std::collections::HashMap;

use hindsight_types::MemoryKind;
use qdrant_client::qdrant::{
    CreateCollection, CreateFieldIndexCollection, Distance, FieldType, HnswConfigDiff, IntegerIndexParams,
    KeywordIndexParams, Modifier, PayloadIndexParams, SparseVectorConfig, SparseVectorParams, VectorParams,
    VectorParamsMap, VectorsConfig, payload_index_params::IndexParams, vectors_config,
};

use crate::{field, vectors::Named};

/// First name of the dense vector: cosine, of the embedder's dimension.
pub(crate) const DENSE: &str = "dense";
/// Name of the sparse vector: BM25 term weights; the engine applies the inverse document frequency.
pub(crate) const BM25: &str = "bm25";

/// The collections that hold records. Each record in them has a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Collection {
    Events,
    Trajectories,
    Steps,
    FailurePatterns,
    Lessons,
    Facts,
    Evaluations,
    Receipts,
    Evidence,
    OpenTasks,
    Compactions,
    /// Memories that are not searched any more.
    Archive,
    Versions,
    /// What was forgotten, and how that went.
    Forgettings,
    /// Ids that were merged into users, and what moved.
    Merges,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Keyword,
    /// For equality, ranges and order.
    Integer,
    Bool,
}

impl Collection {
    pub(crate) const ALL: [Self; 15] = [
        Self::Events,
        Self::Trajectories,
        Self::Steps,
        Self::FailurePatterns,
        Self::Lessons,
        Self::Facts,
        Self::Evaluations,
        Self::Receipts,
        Self::Evidence,
        Self::OpenTasks,
        Self::Compactions,
        Self::Archive,
        Self::Versions,
        Self::Forgettings,
        Self::Merges,
    ];

    pub(crate) fn of(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Fact => Self::Facts,
            MemoryKind::Experience => Self::Trajectories,
            MemoryKind::Lesson => Self::Lessons,
            MemoryKind::FailurePattern => Self::FailurePatterns,
            MemoryKind::Step => Self::Steps,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Trajectories => "trajectories",
            Self::Steps => "steps",
            Self::FailurePatterns => "failure_patterns",
            Self::Lessons => "lessons",
            Self::Facts => "facts",
            Self::Evaluations => "evaluations",
            Self::Receipts => "receipts",
            Self::Evidence => "evidence",
            Self::OpenTasks => "open_tasks",
            Self::Compactions => "compactions",
            Self::Archive => "archive",
            Self::Versions => "versions",
            Self::Merges => "merges",
            Self::Forgettings => "forgettings",
        }
    }

    /// Whether its points have vectors.
    pub(crate) fn has_vectors(self) -> bool {
        self.is_searched() || self == Self::Archive
    }

    /// Whether its points are found by similarity.
    fn is_searched(self) -> bool {
        matches!(self, Self::Trajectories | Self::Steps | Self::FailurePatterns | Self::Lessons | Self::Facts)
    }

    pub(crate) fn with_vectors() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|collection| collection.has_vectors())
    }

    /// Whether a tool's name can narrow a search in it.
    pub(crate) fn has_action_name(self) -> bool {
        matches!(self, Self::Steps | Self::FailurePatterns)
    }

    /// Whether its records name people and things.
    pub(crate) fn has_entities(self) -> bool {
        matches!(self, Self::Trajectories | Self::Lessons | Self::Facts)
    }

    /// Whether its records meet themselves across runs and are merged instead of replaced.
    pub(crate) fn is_merged(self) -> bool {
        matches!(self, Self::FailurePatterns | Self::Lessons)
    }

    /// Whether its records carry what the ledger counts of them.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, Self::FailurePatterns | Self::Lessons | Self::Trajectories)
    }

    /// The time by which it is listed, newest first.
    pub(crate) fn time_field(self) -> &'static str {
        match self {
            Self::Events | Self::Steps => field::RECORDED_AT,
            Self::Trajectories => field::ENDED_AT,
            Self::FailurePatterns => field::LAST_SEEN,
            Self::Lessons => field::CREATED_AT,
            Self::Facts => field::OCCURRED_AT,
            Self::Evaluations => field::UPDATED_AT,
            Self::Receipts
            | Self::Evidence
            | Self::Versions
            | Self::Compactions
            | Self::Forgettings
            | Self::Merges => field::AT,
            Self::OpenTasks => field::TOUCHED_AT,
            Self::Archive => field::ARCHIVED_AT,
        }
    }

    /// What is filtered on beside tenant, visibility and time.
    fn own_indexes(self) -> &'static [(&'static str, Index)] {
        use Index::{Bool, Integer, Keyword};
        match self {
            Self::Events => &[
                (field::TRACE_ID, Keyword),
                (field::SESSION, Keyword),
                (field::USER, Keyword),
                (field::STEP_INDEX, Integer),
            ],
            Self::Trajectories => &[
                (field::TRACE_ID, Keyword),
                (field::USER, Keyword),
                (field::AGENT, Keyword),
                (field::TASK_TYPE, Keyword),
                (field::GOAL, Keyword),
                (field::ENVIRONMENT, Keyword),
                (field::OUTCOME, Keyword),
                (field::WORTH_REFERENCE, Bool),
                (field::ENTITIES, Keyword),
                (field::REVISION, Integer),
            ],
            Self::Steps => &[
                (field::TRACE_ID, Keyword),
                (field::STEP_INDEX, Integer),
                (field::STEP_EVALUATION, Keyword),
                (field::ACTION_NAME, Keyword),
                (field::OUTCOME, Keyword),
            ],
            Self::FailurePatterns => &[
                (field::ACTION_NAME, Keyword),
                (field::ENVIRONMENT, Keyword),
                (field::SOURCES, Keyword),
                (field::REVISION, Integer),
            ],
            Self::Lessons => &[
                (field::USER, Keyword),
                (field::TASK_TYPE, Keyword),
                (field::STAGE, Keyword),
                (field::SOURCES, Keyword),
                (field::ENVIRONMENT, Keyword),
                (field::ENTITIES, Keyword),
                (field::REVISION, Integer),
            ],
            Self::Facts => &[
                (field::USER, Keyword),
                (field::STATUS, Keyword),
                (field::EXPIRES_AT, Integer),
                (field::INTENT, Keyword),
                (field::TYPE, Keyword),
                (field::SESSION, Keyword),
                (field::RETAINED_AT, Integer),
                (field::ENTITIES, Keyword),
            ],
            Self::Evaluations => {
                &[(field::TRACE_ID, Keyword), (field::STATE, Keyword), (field::JUDGE, Keyword)]
            }
            Self::Archive => &[
                (field::TRACE_ID, Keyword),
                (field::USER, Keyword),
                (field::KIND, Keyword),
                (field::STATE, Keyword),
                (field::INSTEAD, Keyword),
                (field::SOURCES, Keyword),
            ],
            Self::Receipts => &[(field::INJECTED, Keyword), (field::MEMORY_ID, Keyword)],
            Self::Forgettings => &[(field::REVISION, Integer)],
            Self::OpenTasks => &[],
            Self::Compactions => &[
                (field::POLICY, Keyword),
                (field::RUN_ID, Keyword),
                (field::STATE, Keyword),
                (field::REVISION, Integer),
            ],
            Self::Merges => &[
                (field::MERGE, Keyword),
                (field::USER, Keyword),
                (field::STATE, Keyword),
                (field::TYPE, Keyword),
                (field::TOUCHED_AT, Integer),
            ],
            Self::Versions => &[(field::MEMORY_ID, Keyword), (field::REQUEST_ID, Keyword)],
            Self::Evidence => &[
                (field::MEMORY_ID, Keyword),
                (field::TRACE_ID, Keyword),
                (field::VERDICT, Keyword),
                (field::DECISION, Keyword),
                (field::REVISION, Integer),
            ],
        }
    }

    /// Whether its records can be told apart by this field.
    pub(crate) fn has_index(self, field: &str) -> bool {
        self.own_indexes().iter().any(|(own, _)| *own == field)
    }

    /// `name` is the collection's full name, `vectors` its dense vectors if it has any.
    pub(crate) fn create_request(self, name: &str, vectors: &Named) -> CreateCollection {
        let mut request = CreateCollection { collection_name: name.to_owned(), ..Default::default() };
        // A collection without vectors says so by an empty map.
        let mut dense = HashMap::new();
        if self.has_vectors() {
            let params = VectorParams {
                size: vectors.embedder.dimension as u64,
                distance: Distance::Cosine as i32,
                ..Default::default()
            };
            dense.insert(vectors.name.clone(), params);
        }
        if self.is_searched() {
            let params = SparseVectorParams { modifier: Some(Modifier::Idf as i32), index: None };
            request.sparse_vectors_config =
                Some(SparseVectorConfig { map: HashMap::from([(BM25.to_owned(), params)]) });
        }
        if self == Self::Archive {
            cold(&mut request, &mut dense);
        }
        request.vectors_config = Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map: dense })),
        });
        request
    }

    pub(crate) fn index_requests(self, name: &str) -> Vec<CreateFieldIndexCollection> {
        let common = [
            index_request(name, field::TENANT, Index::Keyword),
            index_request(name, field::VISIBILITY, Index::Keyword),
            index_request(name, self.time_field(), Index::Integer),
        ];
        let own = self.own_indexes().iter().map(|(field, index)| index_request(name, field, *index));
        common.into_iter().chain(own).collect()
    }
}

/// Keeps everything on disk and builds no index for similarity. `on_disk` is deprecated in the newest protocol, but
/// what replaces it is unknown to servers before 1.18, which would ignore it.
#[allow(deprecated)]
fn cold(request: &mut CreateCollection, dense: &mut HashMap<String, VectorParams>) {
    request.on_disk_payload = Some(true);
    request.hnsw_config = Some(HnswConfigDiff { m: Some(0), ..Default::default() });
    for params in dense.values_mut() {
        params.on_disk = Some(true);
    }
}

fn index_request(collection: &str, field: &str, index: Index) -> CreateFieldIndexCollection {
    let (field_type, params) = match index {
        // The engine keeps the points of one tenant together.
        Index::Keyword if field == field::TENANT => {
            let params = KeywordIndexParams { is_tenant: Some(true), ..Default::default() };
            (FieldType::Keyword, Some(IndexParams::KeywordIndexParams(params)))
        }
        Index::Keyword => (FieldType::Keyword, None),
        Index::Integer => {
            let params = IntegerIndexParams { lookup: Some(true), range: Some(true), ..Default::default() };
            (FieldType::Integer, Some(IndexParams::IntegerIndexParams(params)))
        }
        Index::Bool => (FieldType::Bool, None),
    };
    CreateFieldIndexCollection {
        collection_name: collection.to_owned(),
        wait: Some(true),
        field_name: field.to_owned(),
        field_type: Some(field_type as i32),
        field_index_params: params.map(|p| PayloadIndexParams { index_params: Some(p) }),
        ..Default::default()
    }
}
