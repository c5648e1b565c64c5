//! One trouble, met by many runs, and the recalls they make.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hindsight_ports::{Arm, Ledger as _, MemoryStore as _, Search};
use hindsight_rank::{DenseScale, Pool, Query, Ranking, Request, Settings};
use hindsight_types::{
    Environment, Evidence, EvidencePolicy, Lesson, Memory, MemoryId, MemoryKind, Outcome, OutcomeStatus,
    RecalledItem, Receipt, ReceiptId, Scope, ScoreFactors, SimilarityParts, Stage, Timestamp, TraceId,
    Trajectory, Viewer, Visibility,
};
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::{
    House,
    runs::{ask, incident, judged, record, settled, step},
};

const FATAL: &str = "FATAL cannot read /etc/pay/db.yaml: permission denied";

/// What a run does about a container that may not read its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// What worked the first time: corrects the mode of the file.
    Mode,
    /// Gives the file to another.
    Owner,
    /// Restarts, and nothing else.
    Restart,
}

pub(crate) fn goal(container: &str) -> String {
    format!("The container {container} restarts in a loop. Find out why and fix it.")
}

pub(crate) fn run(trace: &str, container: &str, way: Way, status: OutcomeStatus) -> Trajectory {
    let shell = |command: &str, saw: &str| step(0, "shell", command, saw);
    let mut steps = vec![
        shell("docker ps -a", &format!("{container}  Restarting (1) 4 seconds ago")),
        shell(&format!("docker logs {container} --tail 20"), FATAL),
    ];
    steps.extend(match way {
        Way::Mode => Some(shell("chmod 640 /etc/pay/db.yaml", "")),
        Way::Owner => Some(shell("chown pay /etc/pay/db.yaml", "")),
        Way::Restart => None,
    });
    let (last, conclusion) = match status {
        OutcomeStatus::Success => {
            (format!("{container} listening on 8080"), format!("{container} is up again"))
        }
        _ => (FATAL.to_owned(), format!("{container} still restarts")),
    };
    steps.push(shell(&format!("docker restart {container}"), container));
    steps.push(shell(&format!("docker logs {container} --since 1m"), &last));
    for (at, step) in steps.iter_mut().enumerate() {
        step.step_index = u32::try_from(at).unwrap();
    }
    let outcome = Outcome { status, evidence: Vec::new(), conclusion };
    Trajectory { task_description: goal(container), steps, outcome, ..incident(trace) }
}

/// Judges a run, with all that comes of it.
pub(crate) async fn judge(house: &House, run: &Trajectory) {
    ask(house, run, |_| true).await;
    let viewer = Viewer::of_tenant(run.scope.tenant.clone()).with_user(run.scope.user().cloned());
    record(house, &viewer, run, judged).await;
    settled(house).await;
}

/// The lesson about the mode of the file; of several always the same.
pub(crate) async fn lesson(house: &House, scope: &Scope) -> Lesson {
    let found = house.ledger.lessons(&Viewer::of_scope(scope), None, &Default::default()).await.unwrap();
    let of_mode = |l: &Lesson| l.scope == *scope && l.basis.chosen.contains("chmod 640");
    found.items.into_iter().filter(of_mode).min_by_key(|l| l.id).unwrap()
}

/// What the ledger says of a lesson, oldest first.
pub(crate) async fn lines(house: &House, lesson: &Lesson) -> Vec<Evidence> {
    house.ledger.ledger(&lesson.scope.tenant, lesson.id).await.unwrap().0
}

/// The stage that follows.
pub(crate) async fn restaged(house: &House, lesson: &Lesson) -> Stage {
    let policy = EvidencePolicy::default();
    let told = hindsight_lifecycle::restage(&*house.ledger, &lesson.scope.tenant, lesson.id, &policy).await;
    let told = told.unwrap().unwrap();
    assert_eq!(self::lesson(house, &lesson.scope).await.stage, told.standing.stage);
    told.standing.stage
}

/// A recall of lessons whose id is fixed, so that its draws are.
pub(crate) async fn recall(house: &House, scope: &Scope, id: u128, asked: &str) -> Receipt {
    let (viewer, now) = (Viewer::of_scope(scope), Timestamp::now());
    let query = Query::new(asked, &[], now, &TimeZone::UTC);
    let arm = Arm::Bm25(query.sparse());
    let search =
        Search { kind: MemoryKind::Lesson, arm: arm.clone(), limit: 10, action_name: None, ids: None };
    let found = house.ledger.search(&viewer, &search).await.unwrap();
    let scale = DenseScale { zero: 0.0, crowd: 0.0, full: 1.0, weight: 0.0 };
    // How near is near enough is tested elsewhere.
    let settings = Settings { floor: 0.01, tail_floor: 0.01, ..Settings::default() };
    let mut pool = Pool::new(query, Vec::new(), scale, settings);
    pool.add(MemoryKind::Lesson, &arm, found);
    let ids: Vec<_> = pool.shortlist().into_iter().map(|(_, id)| id).collect();
    let fetched = house.ledger.fetch(&viewer, MemoryKind::Lesson, &ids).await.unwrap();
    let (environment, receipt) = (Environment::default(), ReceiptId(Uuid::from_u128(id)));
    let ranking = pool.rank(
        fetched,
        &Request {
            query: asked,
            environment: &environment,
            now,
            limit: 3,
            token_budget: 1_500,
            receipt,
            style: Default::default(),
            said: None,
        },
    );
    let receipt = kept(scope, receipt, asked, now, ranking);
    house.ledger.put_receipt(&receipt).await.unwrap();
    receipt
}

fn kept(scope: &Scope, id: ReceiptId, asked: &str, at: Timestamp, ranking: Ranking) -> Receipt {
    let injected = ranking.items.into_iter().map(|item| RecalledItem {
        memory_id: item.memory.id(),
        kind: item.memory.kind(),
        factors: item.factors,
        why: item.why,
        supersedes: item.supersedes,
    });
    Receipt {
        id,
        scope: scope.clone(),
        query: asked.to_owned(),
        asked: None,
        at,
        arms: Vec::new(),
        funnel: None,
        injected: injected.collect(),
        withheld: ranking.withheld,
        degraded: false,
        empty_reason: ranking.empty_reason,
        tokens: 0,
    }
}

pub(crate) fn shared() -> Scope {
    Scope::new(super::tenant(), Visibility::Tenant)
}

pub(crate) fn trace(name: impl Into<String>) -> TraceId {
    TraceId::new(name).unwrap()
}

pub(crate) fn gives(receipt: &Receipt, lesson: &Lesson) -> bool {
    receipt.injected.iter().any(|item| item.memory_id == lesson.id)
}

/// A recall that gave one memory, whatever its stage.
pub(crate) async fn given(
    house: &House,
    scope: &Scope,
    id: u128,
    memory: MemoryId,
    kind: MemoryKind,
) -> Receipt {
    let factors = ScoreFactors {
        similarity: 0.9,
        parts: SimilarityParts::default(),
        decay: 1.0,
        reliability: 0.5,
        environment: 1.0,
        trust: 0.8,
        stage: 0.8,
    };
    let item =
        RecalledItem { memory_id: memory, kind, factors, why: "near".to_owned(), supersedes: Vec::new() };
    let receipt = Receipt {
        id: ReceiptId(Uuid::from_u128(id)),
        scope: scope.clone(),
        query: goal("payment-api"),
        asked: None,
        at: Timestamp::now(),
        arms: Vec::new(),
        funnel: None,
        injected: vec![item],
        withheld: Vec::new(),
        degraded: false,
        empty_reason: String::new(),
        tokens: 0,
    };
    house.ledger.put_receipt(&receipt).await.unwrap();
    receipt
}

/// The experience of a run, as a memory.
pub(crate) async fn experience(house: &House, run: &Trajectory) -> Memory {
    let viewer = Viewer::of_scope(&run.scope);
    Memory::Experience(Box::new(house.ledger.experience(&viewer, &run.trace_id).await.unwrap().unwrap()))
}
