//! What is exported, and what becomes of it where it is imported.

use crate::common::{World, ask, experience, fact, lesson, run, tenant, time};
use futures::TryStreamExt as _;
use hindsight_api::Permission;
use hindsight_ingest::split;
use hindsight_ports::{Forget as _, MemoryStore as _};
use hindsight_proto::{
    common::v1::{MemoryKind, memory::Kind},
    memory::v1::{
        ExportHeader, ExportMemoriesRequest, ExportMemoriesResponse, ImportMemoriesRequest,
        ImportMemoriesResponse, ListMemoriesRequest,
    },
    storage::v1::{Record, record::Body},
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Forgotten, Memory, MemoryKind as Stored, Scope, Stage, Subject,
    TraceId, UserId, Viewer, Visibility,
};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

const TASK: &str = "the api container restarts in a loop";

async fn parts(world: &World, cursor: &str) -> Vec<ExportMemoriesResponse> {
    let request = ExportMemoriesRequest { cursor: cursor.to_owned() };
    world.memories("acme").export_memories(request).await.unwrap().into_inner().try_collect().await.unwrap()
}

async fn exported(world: &World) -> (ExportHeader, Vec<Record>) {
    let parts = parts(world, "").await;
    let header = parts[0].header.clone().unwrap();
    let records: Vec<Record> = parts.iter().flat_map(|part| part.records.clone()).collect();
    let end = parts.last().unwrap().end.clone().unwrap();
    assert_eq!((end.records, end.unreadable), (records.len() as u64, 0));
    (header, records)
}

async fn import(
    world: &World,
    header: &ExportHeader,
    records: Vec<Record>,
) -> Result<ImportMemoriesResponse, Status> {
    let request = ImportMemoriesRequest { header: Some(header.clone()), records };
    Ok(world.memories("acme").import_memories(request).await?.into_inner())
}

async fn filled() -> World {
    let world = World::new().await;
    let run = run("t-1", TASK);
    world.store.append_events(&split(run.trajectory.clone())).await.unwrap();
    let mut memories = vec![experience("t-1", TASK), lesson("loop", TASK, Stage::Active)];
    memories.push(fact("acme", "ann", "tea", "喜欢喝茶"));
    world.remember(memories).await;
    world
}

#[tokio::test]
async fn what_is_exported_is_recalled_where_it_is_imported() {
    let (here, there) = (filled().await, World::new().await);
    let (header, records) = exported(&here).await;
    assert_eq!(
        (header.tenant.as_str(), header.format.as_str(), header.version),
        ("acme", "hindsight-export", 1)
    );
    assert!(records.iter().all(|record| record.tenant.is_empty()), "whose it is follows from the key");
    let count = records.len();

    let first = import(&there, &header, records.clone()).await.unwrap();
    assert_eq!((first.written as usize, first.present, first.forgotten), (count, 0, 0), "{first:?}");
    assert!(first.refused.is_empty(), "{first:?}");
    let again = import(&there, &header, records).await.unwrap();
    assert_eq!(again.written + again.present, first.written, "{again:?}");
    let answer = there.recall(ask(TASK)).await.unwrap();
    assert!(answer.block.contains("read the last lines of its log"), "it has its vectors: {answer:?}");
    let list = ListMemoriesRequest {
        kind: MemoryKind::Fact as i32,
        user: "ann".to_owned(),
        ..ListMemoriesRequest::default()
    };
    let facts = there.memories("acme").list_memories(list).await.unwrap().into_inner().memories;
    assert!(matches!(&facts[0].kind, Some(Kind::Fact(fact)) if fact.content == "喜欢喝茶"), "{facts:?}");
    assert_eq!(facts.len(), 1);

    // It ended, and nobody has judged it by a record.
    let (viewer, run) = (Viewer::of_tenant(tenant("acme")), TraceId::new("t-1").unwrap());
    let record = there.store.evaluation_record(&viewer, &run).await.unwrap().unwrap();
    assert!(matches!(record.state, EvaluationState::Waiting { .. }), "{record:?}");
}

#[tokio::test]
async fn a_run_that_was_judged_stays_judged_where_it_is_imported() {
    let (here, there) = (filled().await, World::new().await);
    let (viewer, run) = (Viewer::of_tenant(tenant("acme")), TraceId::new("t-1").unwrap());
    let judged = EvaluationRecord {
        trace_id: run.clone(),
        scope: Scope::new(tenant("acme"), Visibility::Tenant),
        state: EvaluationState::Judged,
        attempts: 1,
        step_count: 1,
        judge: "slice/1".to_owned(),
        updated_at: time(0),
    };
    here.store.put_evaluation_record(&judged).await.unwrap();
    let (header, records) = exported(&here).await;
    for _ in 0..2 {
        import(&there, &header, records.clone()).await.unwrap();
        assert_eq!(there.store.evaluation_record(&viewer, &run).await.unwrap().as_ref(), Some(&judged));
    }
}

#[tokio::test]
async fn an_export_goes_on_from_each_of_its_cursors() {
    let world = filled().await;
    let facts = (0..150).map(|n| fact("acme", "ann", &n.to_string(), &format!("statement {n}")));
    world.remember(facts.collect()).await;
    let whole = parts(&world, "").await;
    let mut before = Vec::new();
    let mut cursors = 0;
    for part in &whole {
        before.extend(part.records.clone());
        if part.cursor.is_empty() {
            continue;
        }
        cursors += 1;
        let rest = parts(&world, &part.cursor).await.into_iter().flat_map(|part| part.records);
        let together: Vec<Record> = before.iter().cloned().chain(rest).collect();
        assert_eq!(together, whole.iter().flat_map(|part| part.records.clone()).collect::<Vec<_>>());
    }
    assert!(cursors > 3, "{cursors}");
    let foreign = whole.iter().find(|part| !part.cursor.is_empty()).unwrap().cursor.clone();
    let request = ExportMemoriesRequest { cursor: foreign };
    let mut other = world.memories("other").export_memories(request).await.unwrap().into_inner();
    other.message().await.unwrap();
    assert_eq!(other.message().await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn only_administrators_of_the_same_tenant_may() {
    let world = filled().await;
    let (header, records) = exported(&world).await;
    for permission in [Permission::Read, Permission::Write] {
        let mut client = world.memories_with("acme", permission);
        let refused = client.export_memories(ExportMemoriesRequest::default()).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        let refused = client.import_memories(ImportMemoriesRequest::default()).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let request = ImportMemoriesRequest { header: Some(header), records };
    let refused = world.memories("other").import_memories(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(refused.get_details_error_info().unwrap().reason, "OTHER_TENANT");
    assert!(refused.message().contains("`acme`") && refused.message().contains("`other`"), "{refused}");
}

#[tokio::test]
async fn what_comes_in_passes_the_checks_of_the_write_door() {
    let (here, there) = (filled().await, World::new().await);
    let (header, mut records) = exported(&here).await;
    let facts = records.iter_mut().filter_map(|record| match &mut record.body {
        Some(Body::Memory(memory)) => match &mut memory.kind {
            Some(Kind::Fact(fact)) => Some(fact),
            _ => None,
        },
        _ => None,
    });
    for fact in facts {
        fact.content = "the key is password=hunter2horse".to_owned();
    }
    let mut steals = records[0].clone();
    steals.tenant = "other".to_owned();
    records.push(steals);
    let mut endless = records.iter().find(|r| matches!(&r.body, Some(Body::Event(_)))).unwrap().clone();
    if let Some(Body::Event(event)) = &mut endless.body {
        event.trace_id = "t".repeat(300);
    }
    records.push(endless);
    records.push(Record::default());
    let count = records.len() as u32;
    let answer = import(&there, &header, records).await.unwrap();
    let refused: Vec<(u32, bool)> = answer.refused.iter().map(|r| (r.index, r.message.is_empty())).collect();
    assert_eq!(refused, [(count - 3, false), (count - 2, false), (count - 1, false)], "{answer:?}");
    let viewer = Viewer::of_tenant(tenant("acme")).with_user(Some(UserId::new("ann").unwrap()));
    let id = fact("acme", "ann", "tea", "").id();
    match there.store.get(&viewer, Stored::Fact, id).await.unwrap() {
        Some(Memory::Fact(fact)) => {
            assert!(
                fact.content.contains("REDACTED") && !fact.content.contains("hunter2"),
                "{}",
                fact.content
            );
        }
        other => panic!("no fact: {other:?}"),
    }
    let other = ExportHeader { version: 2, ..header.clone() };
    let refused = import(&there, &other, vec![Record::default()]).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let many = vec![Record::default(); 501];
    assert_eq!(import(&there, &header, many).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn what_was_forgotten_is_not_brought_back() {
    let (here, there) = (filled().await, World::new().await);
    let (header, records) = exported(&here).await;
    let scope = Scope::new(tenant("acme"), Visibility::Tenant);
    let forget = |subject, at| Forgotten { scope: scope.clone(), subject, at: time(at) };
    there.vectors.entomb(&forget(Subject::User(UserId::new("ann").unwrap()), 0)).await.unwrap();
    there.vectors.entomb(&forget(Subject::Run(TraceId::new("t-1").unwrap()), 0)).await.unwrap();
    let answer = import(&there, &header, records.clone()).await.unwrap();
    assert_eq!((answer.written, answer.forgotten as usize), (0, records.len()), "{answer:?}");
    let (_, left) = exported(&there).await;
    assert!(left.iter().all(|record| matches!(record.body, Some(Body::Forgotten(_)))), "{left:?}");

    // By a tombstone that stands in the export.
    let tombstones = left.into_iter().chain(records).collect();
    let elsewhere = World::new().await;
    let answer = import(&elsewhere, &header, tombstones).await.unwrap();
    assert_eq!((answer.written, answer.forgotten > 3), (2, true), "{answer:?}");

    // What was said since stays.
    let later = World::new().await;
    later.vectors.entomb(&forget(Subject::User(UserId::new("ann").unwrap()), -30)).await.unwrap();
    let (_, records) = exported(&here).await;
    assert_eq!(import(&later, &header, records).await.unwrap().forgotten, 0);
}
