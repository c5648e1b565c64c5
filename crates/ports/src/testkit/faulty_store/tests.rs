use super::*;
use crate::{Arm, testkit::samples};

/// Remembers nothing; counts what reaches it.
#[derive(Default)]
struct Counting(Mutex<u64>);

impl Counting {
    fn count(&self) -> u64 {
        *self.0.lock().unwrap()
    }

    fn done<T: Default>(&self) -> Result<T, StoreError> {
        *self.0.lock().unwrap() += 1;
        Ok(T::default())
    }
}

#[async_trait]
impl MemoryStore for Counting {
    async fn prepare(&self, _: &EmbedderId) -> Result<(), StoreError> {
        self.done()
    }
    async fn append_events(&self, _: &[Event]) -> Result<(), StoreError> {
        self.done()
    }
    async fn events(&self, _: &Scope, _: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.done()
    }
    async fn trace_events(&self, _: &TenantId, _: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.done()
    }
    async fn mark_open(&self, _: &[OpenTask]) -> Result<(), StoreError> {
        self.done()
    }
    async fn clear_open(&self, _: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        self.done()
    }
    async fn idle_tasks(&self, _: Timestamp, _: &PageRequest) -> Result<Page<OpenTask>, StoreError> {
        let items = self.done()?;
        Ok(Page { items, next_token: String::new() })
    }
    async fn upsert(&self, _: &[Encoded<Memory>]) -> Result<(), StoreError> {
        self.done()
    }
    async fn search(&self, _: &Viewer, _: &Search) -> Result<Vec<Candidate>, StoreError> {
        self.done()
    }
    async fn fetch(&self, _: &Viewer, _: MemoryKind, _: &[CandidateId]) -> Result<Vec<Fetched>, StoreError> {
        self.done()
    }
    async fn get(&self, _: &Viewer, _: MemoryKind, _: MemoryId) -> Result<Option<Memory>, StoreError> {
        self.done()
    }
    async fn list(&self, _: &Viewer, _: MemoryKind, _: &PageRequest) -> Result<Page<Memory>, StoreError> {
        let items = self.done()?;
        Ok(Page { items, next_token: String::new() })
    }
    async fn session_facts(
        &self,
        _: &Viewer,
        _: &SessionId,
        _: Period,
        _: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        self.done()
    }

    async fn experience(&self, _: &Viewer, _: &TraceId) -> Result<Option<Experience>, StoreError> {
        self.done()
    }
    async fn put_evaluation_record(&self, _: &EvaluationRecord) -> Result<(), StoreError> {
        self.done()
    }
    async fn evaluation_record(
        &self,
        _: &Viewer,
        _: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        self.done()
    }
    async fn unfinished_evaluations(
        &self,
        _: &Viewer,
        _: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        let items = self.done()?;
        Ok(Page { items, next_token: String::new() })
    }
    async fn judged_runs(
        &self,
        _: &TenantId,
        _: &str,
        _: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        let items = self.done()?;
        Ok(Page { items, next_token: String::new() })
    }
    async fn put_former_verdicts(&self, _: &FormerVerdicts) -> Result<(), StoreError> {
        self.done()
    }
    async fn former_verdicts(&self, _: &Viewer, _: &TraceId) -> Result<Option<FormerVerdicts>, StoreError> {
        self.done()
    }
    async fn put_reevaluation(&self, _: &Reevaluation) -> Result<(), StoreError> {
        self.done()
    }
    async fn reevaluation(&self, _: &Viewer, _: ReevaluationId) -> Result<Option<Reevaluation>, StoreError> {
        self.done()
    }
    async fn put_receipt(&self, _: &Receipt) -> Result<(), StoreError> {
        self.done()
    }
    async fn receipt(&self, _: &Viewer, _: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.done()
    }
    async fn put_feedback(&self, _: &[Feedback]) -> Result<(), StoreError> {
        self.done()
    }
    async fn feedback(&self, _: &Viewer, _: ReceiptId, _: &[MemoryId]) -> Result<Vec<Feedback>, StoreError> {
        self.done()
    }
    async fn expire_receipts(&self, _: Timestamp) -> Result<u64, StoreError> {
        self.done()
    }
    async fn append_evidence(&self, _: &[Evidence]) -> Result<(), StoreError> {
        self.done()
    }
    async fn evidence(&self, _: &Viewer, _: MemoryId) -> Result<Vec<Evidence>, StoreError> {
        self.done()
    }
    async fn stats(&self, _: &Viewer) -> Result<StoreStats, StoreError> {
        self.done()
    }
}

fn away() -> StoreError {
    StoreError::Unavailable("injected".to_owned())
}

fn faulty(seed: u64) -> (Arc<Counting>, FaultyStore) {
    let inner = Arc::new(Counting::default());
    (inner.clone(), FaultyStore::new(inner, seed))
}

fn viewer() -> Viewer {
    Viewer::of_tenant(samples::tenant("t"))
}

#[tokio::test]
async fn the_nth_call_of_its_class_is_refused() {
    let (inner, store) = faulty(0);
    store.inject(Calls::Writes, When::Nth(2), Fault::Refuse(away()));
    assert!(store.append_events(&[]).await.is_ok());
    assert!(store.stats(&viewer()).await.is_ok());
    assert!(store.upsert(&[]).await.is_err());
    assert!(store.upsert(&[]).await.is_ok());
    assert_eq!((inner.count(), store.made(StoreCall::Upsert)), (3, 2));
}

#[tokio::test]
async fn one_arm_alone_is_refused() {
    let (inner, store) = faulty(0);
    store.inject(Calls::SearchesBy("period"), When::Always, Fault::Refuse(away()));
    let (from, until) = (samples::time(0), samples::time(1));
    let by = |arm| Search { kind: MemoryKind::Fact, arm, limit: 1, action_name: None, ids: None };
    assert!(store.search(&viewer(), &by(Arm::Period(Period { from, until }))).await.is_err());
    assert!(store.search(&viewer(), &by(Arm::Entities(Vec::new()))).await.is_ok());
    assert_eq!((inner.count(), store.made(StoreCall::Search)), (1, 2));
}

#[tokio::test]
async fn a_lost_answer_was_still_done() {
    let (inner, store) = faulty(0);
    store.inject(Calls::Only(StoreCall::Upsert), When::Always, Fault::Lose(away()));
    assert!(store.upsert(&[]).await.is_err());
    assert_eq!(inner.count(), 1);
    store.heal();
    assert!(store.upsert(&[]).await.is_ok());
}

#[tokio::test]
async fn the_same_seed_fails_the_same_calls() {
    let run = async |seed| {
        let (_, store) = faulty(seed);
        store.inject(Calls::Reads, When::Chance(0.5), Fault::Refuse(away()));
        let mut outcomes = Vec::new();
        for _ in 0..64 {
            outcomes.push(store.stats(&viewer()).await.is_ok());
        }
        outcomes
    };
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
    assert!(first.contains(&true) && first.contains(&false));
}

#[tokio::test]
async fn a_delayed_call_is_done_later() {
    let (inner, store) = faulty(0);
    store.inject(Calls::All, When::Always, Fault::Delay(Duration::from_millis(20)));
    let mut call = std::pin::pin!(store.upsert(&[]));
    tokio::select! {
        biased;
        _ = &mut call => panic!("done at once"),
        () = std::future::ready(()) => assert_eq!(inner.count(), 0),
    }
    assert!(call.await.is_ok());
    assert_eq!(inner.count(), 1);
}
