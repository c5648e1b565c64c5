use hindsight_codec::RecordBody;
use hindsight_ports::testkit::samples::{
    evidence, experience, fact, failure_pattern, lesson, private, receipt, started, step_memory, tenant,
    trace, user,
};
use hindsight_types::{
    EventBody, Evidence, EvidenceId, Memory, MemoryId, MemoryKind, RecalledItem, ScoreFactors,
    SimilarityParts, Verdict,
};

use super::{rescope::Route, *};

fn route(names: BTreeMap<MemoryId, MemoryId>) -> Route {
    let tenant = tenant("acme");
    Route::new(private(&tenant, "anon"), private(&tenant, "anna"), names).unwrap()
}

fn item(id: MemoryId) -> RecalledItem {
    let parts = SimilarityParts::default();
    let factors = ScoreFactors {
        similarity: 1.0,
        parts,
        decay: 1.0,
        reliability: 1.0,
        environment: 1.0,
        trust: 1.0,
        stage: 1.0,
    };
    let (kind, why, supersedes) = (MemoryKind::Fact, String::new(), vec![id]);
    RecalledItem { memory_id: id, kind, factors, why, supersedes }
}

#[test]
fn ids_that_are_made_of_the_owner_are_made_anew() {
    let (tenant, route) = (tenant("acme"), route(BTreeMap::new()));
    let anon = private(&tenant, "anon");
    let tea = Memory::Fact(fact(&tenant, "anon", "tea", 1));
    assert_eq!(route.memory(tea).id(), MemoryId::fact(&tenant, &user("anna"), "tea"));
    let learned = Memory::Lesson(lesson(&anon, "loop", &["t"], 1));
    assert_eq!(route.memory(learned).id(), MemoryId::lesson(&tenant, "user:anna", "loop"));
    let run = experience(&anon, &trace("t"), 100);
    assert_eq!(route.memory(run.clone()).id(), run.id());
    let step = step_memory(&anon, &trace("t"), 0, "ls");
    assert_eq!(route.memory(step.clone()).id(), step.id());
}

#[test]
fn a_memory_without_its_key_gets_an_id_all_the_same_and_another_for_each_owner() {
    let tenant = tenant("acme");
    let anon = private(&tenant, "anon");
    let mut learned = lesson(&anon, "loop", &["t"], 1);
    learned.key = String::new();
    // The sample's id is made of the tool alone.
    let pattern = failure_pattern(&anon, "pull", &["t"], 1);
    for memory in [Memory::Lesson(learned), Memory::FailurePattern(pattern)] {
        let to_anna = route(BTreeMap::new()).memory(memory.clone());
        let to_bob = Route::new(anon.clone(), private(&tenant, "bob"), BTreeMap::new()).unwrap();
        assert_ne!(to_anna.id(), memory.id());
        assert_ne!(to_anna.id(), to_bob.memory(memory.clone()).id());
        assert_eq!(to_anna.scope(), &private(&tenant, "anna"));
        // A name that is known counts.
        let known = route([(memory.id(), MemoryId(Uuid::nil()))].into());
        assert_eq!(known.memory(memory).id(), MemoryId(Uuid::nil()));
    }
}

#[test]
fn what_names_a_memory_names_it_by_its_new_id() {
    let tenant = tenant("acme");
    let anon = private(&tenant, "anon");
    let (old, new) = (MemoryId(Uuid::from_u128(1)), MemoryId(Uuid::from_u128(2)));
    let route = route([(old, new)].into());
    let mut recall = receipt(&anon);
    recall.injected = vec![item(old)];
    let Some(RecordBody::Receipt(recall)) = route.record(RecordBody::Receipt(recall)) else { panic!() };
    assert_eq!((recall.injected[0].memory_id, &recall.injected[0].supersedes[..]), (new, &[new][..]));
    let line = evidence(&anon, old, &trace("t"), Verdict::Supported, 1);
    let Some(RecordBody::Evidence(line)) = route.record(RecordBody::Evidence(line)) else { panic!() };
    assert_eq!((line.memory_id, line.id), (new, EvidenceId::of(new, &tenant, &trace("t"))));
    let own = Evidence {
        id: EvidenceId(Uuid::from_u128(9)),
        ..evidence(&anon, old, &trace("t"), Verdict::Ignored, 1)
    };
    let Some(RecordBody::Evidence(own)) = route.record(RecordBody::Evidence(own)) else { panic!() };
    assert_eq!(own.id, EvidenceId(Uuid::from_u128(9)), "an id that is its own stays");
}

#[test]
fn a_run_is_of_its_new_user_and_what_is_nobodys_stays() {
    let tenant = tenant("acme");
    let anon = private(&tenant, "anon");
    let route = route(BTreeMap::new());
    let mut start = started(&anon, &trace("t"));
    if let EventBody::Started(started) = &mut start.body {
        started.user = Some(user("anon"));
    }
    let Some(RecordBody::Event(start)) = route.record(RecordBody::Event(start)) else { panic!() };
    let EventBody::Started(begun) = start.body else { panic!() };
    assert_eq!((start.scope, begun.user), (private(&tenant, "anna"), Some(user("anna"))));
    let merge = SubjectMerge::new(tenant.clone(), user("x"), user("y"), "ops", "", Timestamp::UNIX_EPOCH);
    assert_eq!(route.record(RecordBody::SubjectMerge(merge)), None);
    let shared = hindsight_ports::testkit::samples::shared(&tenant);
    assert!(Route::new(shared.clone(), anon.clone(), BTreeMap::new()).is_none());
    assert!(Route::new(anon, shared, BTreeMap::new()).is_none());
}
