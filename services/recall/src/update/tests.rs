use hindsight_types::{MemoryId, TenantId, UserId};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

fn tea() -> Memory {
    let tenant = TenantId::new("acme").unwrap();
    Memory::Fact(Fact::new(&tenant, UserId::new("安").unwrap(), "drink", "我喜欢喝茶", at(0)))
}

fn fact(f: pb::Fact) -> Option<pb::Memory> {
    Some(pb::Memory { kind: Some(Kind::Fact(f)) })
}

fn applied(f: pb::Fact, paths: &[&str]) -> Result<Fact, Invalid> {
    let paths: Vec<String> = paths.iter().map(|p| (*p).to_owned()).collect();
    match Update::new(fact(f), &paths)?.apply(&tea(), at(9))? {
        Memory::Fact(fact) => Ok(fact),
        other => panic!("not a fact: {other:?}"),
    }
}

fn wrong(result: Result<Fact, Invalid>) -> Vec<String> {
    result.unwrap_err().fields.into_iter().map(|f| f.field).collect()
}

#[test]
fn only_what_the_mask_names_changes() {
    let new =
        pb::Fact { content: "我喜欢喝咖啡".into(), confidence: 0.5, status: 2, ..Default::default() };
    let changed = applied(new, &["content", "confidence"]).unwrap();
    let Memory::Fact(stored) = tea() else { panic!() };
    assert_eq!((changed.content.as_str(), changed.confidence), ("我喜欢喝咖啡", 0.5));
    assert_eq!(
        Fact { content: stored.content.clone(), confidence: 1.0, entities: vec![], ..changed },
        stored
    );
}

#[test]
fn a_status_carries_its_time() {
    let resolved = applied(pb::Fact { status: 2, ..Default::default() }, &["status"]).unwrap();
    assert_eq!((resolved.status, resolved.resolved_at), (FactStatus::Resolved, Some(at(9))));
    let mut replaced = resolved.clone();
    replaced.set_status(FactStatus::Obsolete, at(10));
    replaced.superseded_by = Some(MemoryId::fact(&replaced.scope.tenant, &UserId::new("安").unwrap(), "x"));
    let update = Update::new(fact(pb::Fact { status: 1, ..Default::default() }), &["status".to_owned()]);
    let Memory::Fact(open) = update.unwrap().apply(&Memory::Fact(replaced), at(11)).unwrap() else {
        panic!()
    };
    assert_eq!((open.status, open.resolved_at, open.superseded_by), (FactStatus::Open, None, None));
}

#[test]
fn secrets_do_not_get_in_and_names_are_found() {
    let content = "my key is AKIAIOSFODNN7EXAMPLE for host db-0.acme.com".to_owned();
    let changed = applied(pb::Fact { content, ..Default::default() }, &["content"]).unwrap();
    assert!(!changed.content.contains("AKIAIOSFODNN7EXAMPLE"), "{}", changed.content);
    assert!(changed.entities.iter().any(|e| e.contains("db-0.acme.com")), "{:?}", changed.entities);
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(wrong(applied(pb::Fact::default(), &[])), ["update_mask"]);
    assert_eq!(wrong(applied(pb::Fact::default(), &["memory_id", "scope"])), ["update_mask", "update_mask"]);
    assert_eq!(wrong(applied(pb::Fact::default(), &["content"])), ["memory.fact.content"]);
    let surer = pb::Fact { confidence: 1.5, ..Default::default() };
    assert_eq!(wrong(applied(surer, &["confidence"])), ["memory.fact.confidence"]);
    let lesson = Some(pb::Memory { kind: Some(Kind::Lesson(pb::Lesson::default())) });
    let update = Update::new(lesson, &["advice".to_owned()]).unwrap();
    assert!(update.apply(&tea(), at(0)).is_err(), "a lesson's fields do not fit a fact");
}

#[test]
fn the_same_again_changes_nothing() {
    let long = "I ordered two green cups for my sister and they arrived broken. ".repeat(60);
    for (content, paths) in [(long, &["content"][..]), ("茶".to_owned(), &["content", "status"])] {
        let paths: Vec<String> = paths.iter().map(|p| (*p).to_owned()).collect();
        let update =
            Update::new(fact(pb::Fact { content, status: 2, ..Default::default() }), &paths).unwrap();
        let once = update.apply(&tea(), at(1)).unwrap();
        assert_eq!(update.apply(&once, at(2)).unwrap(), once);
    }
}
