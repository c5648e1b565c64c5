use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use hindsight_ports::StoreError;
use hindsight_store::{Scrolled, VectorBackend};
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit, GetPoints, QueryPoints, RetrievedPoint,
    ScoredPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, UpsertPoints,
};

/// Calls until one fails, counted down. Below zero: none fails.
#[derive(Debug, Clone, Default)]
pub struct Fuse(Arc<(AtomicI64, AtomicI64)>);

/// What becomes of the call that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is not made.
    Call,
    /// It is made, and its answer is lost.
    Answer,
}

impl Fuse {
    /// Has the call fail that comes after `calls` others.
    pub fn set(&self, calls: i64, loss: Loss) {
        self.0.1.store(i64::from(loss == Loss::Answer), Ordering::SeqCst);
        self.0.0.store(calls, Ordering::SeqCst);
    }

    pub fn clear(&self) {
        self.0.0.store(-1, Ordering::SeqCst);
    }

    /// Whether the call that was to fail was made.
    pub fn is_blown(&self) -> bool {
        self.0.0.load(Ordering::SeqCst) < 0
    }

    fn burn(&self) -> Option<Loss> {
        let loss = if self.0.1.load(Ordering::SeqCst) == 1 { Loss::Answer } else { Loss::Call };
        (self.0.0.fetch_sub(1, Ordering::SeqCst) == 0).then_some(loss)
    }
}

/// The embedded engine with a fuse.
pub struct Faulty {
    pub inner: Arc<EdgeBackend>,
    pub fuse: Fuse,
    /// How often each call was made.
    pub made: Made,
}

pub type Made = Arc<Mutex<BTreeMap<&'static str, u64>>>;

impl Faulty {
    async fn around<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        *self.made.lock().unwrap().entry(name).or_default() += 1;
        let lost = || StoreError::Unavailable("lost on purpose".to_owned());
        match self.fuse.burn() {
            None => call.await,
            Some(Loss::Call) => Err(lost()),
            Some(Loss::Answer) => call.await.and_then(|_| Err(lost())),
        }
    }
}

macro_rules! backend {
    ($($call:ident: $request:ty => $answer:ty),* $(,)?) => {
        #[async_trait]
        impl VectorBackend for Faulty {
            $(
                async fn $call(&self, request: $request) -> Result<$answer, StoreError> {
                    self.around(stringify!($call), self.inner.$call(request)).await
                }
            )*
        }
    };
}

backend! {
    create_collection: CreateCollection => (),
    collection_info: &str => Option<CollectionInfo>,
    create_field_index: CreateFieldIndexCollection => (),
    create_vector_name: CreateVectorNameRequest => (),
    delete_vector_name: DeleteVectorNameRequest => (),
    upsert: UpsertPoints => (),
    update_vectors: UpdatePointVectors => (),
    set_payload: SetPayloadPoints => (),
    delete: DeletePoints => (),
    get: GetPoints => Vec<RetrievedPoint>,
    query: QueryPoints => Vec<ScoredPoint>,
    scroll: ScrollPoints => Scrolled,
    count: CountPoints => u64,
    facet: FacetCounts => Vec<FacetHit>,
}
