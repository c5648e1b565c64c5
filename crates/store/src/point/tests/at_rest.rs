//! Points as this version writes them. What changes here changes what is at rest: points that were written
//! before must still be read, so keep a case when adding another.

use hindsight_ports::testkit::samples::{experience, time};
use hindsight_types::{
    Archived, Attachment, Fact, FactStatus, FactType, Judging, MemoryVersion, Revision, RevisionCause,
    SessionId,
};

use super::*;

/// A point: its id, what stands in the open, the record.
struct Golden {
    id: &'static str,
    shown: &'static [&'static str],
    record: &'static str,
}

const TEA: Golden = Golden {
    id: "f445508a-cc8b-55ed-9643-2d46dd26a65d",
    shown: &[
        r#"entities=["tea"]"#,
        r#"intent="preference""#,
        r#"occurred_at=1780000001000000"#,
        r#"retained_at=1780000001000000"#,
        r#"status="open""#,
        r#"tenant="acme""#,
        r#"type="other""#,
        r#"user="anna""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYSKNAQqKAQokMmNjYTA0NGUtNjgxNi01YWZlLTgzZjktZTgyNjRhMWIyNzJiEggIAhIEYW5uYRo\
             DdGVhIiJhbm5hIGxpa2VzIHRlYTsg5Zac5qyi5Zad6Iy2ICh0ZWEpMgRhbm5hQgpwcmVmZXJlbmNlSgN0ZWFQAV0AAAA/Yg\
             YIgcri0AZyBgiByuLQBogBBg==",
};

/// Before a fact told who changed it, and when it was settled.
const PLAIN_NOTE: Golden = Golden {
    id: "f445508a-cc8b-55ed-9643-2d46dd26a65d",
    shown: &[
        r#"entities=["tea"]"#,
        r#"expires_at=1780000009000000"#,
        r#"intent="preference""#,
        r#"occurred_at=1780000001000000"#,
        r#"retained_at=1780000002000000"#,
        r#"session="talk""#,
        r#"status="resolved""#,
        r#"tenant="acme""#,
        r#"type="preference""#,
        r#"user="anna""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYSKNAgqKAgokMmNjYTA0NGUtNjgxNi01YWZlLTgzZjktZTgyNjRhMWIyNzJiEggIAhIEYW5uYRo\
             DdGVhIiJhbm5hIGxpa2VzIHRlYTsg5Zac5qyi5Zad6Iy2ICh0ZWEpMgRhbm5hOgR0YWxrQgpwcmVmZXJlbmNlSgN0ZWFQAl\
             0AAAA/YgYIgcri0AZqBgiJyuLQBnIGCILK4tAGehNUb206IFRlYSBvciBjb2ZmZWU/ggERV2VsbCwgSSBsaWtlIHRlYS6IA\
             QGSAUYKG2h0dHBzOi8vZXhhbXBsZS5jb20vY3VwLnBuZxIJaW1hZ2UvcG5nGhxhIGdyZWVuIGN1cDsg57u/6Imy55qE5p2v\
             5a2Q",
};

const NOTE: Golden = Golden {
    id: "f445508a-cc8b-55ed-9643-2d46dd26a65d",
    shown: PLAIN_NOTE.shown,
    record: "CgRhY21lEggIAhIEYW5uYSLFAgrCAgokMmNjYTA0NGUtNjgxNi01YWZlLTgzZjktZTgyNjRhMWIyNzJiEggIAhIEYW5uYRo\
             DdGVhIiJhbm5hIGxpa2VzIHRlYTsg5Zac5qyi5Zad6Iy2ICh0ZWEpMgRhbm5hOgR0YWxrQgpwcmVmZXJlbmNlSgN0ZWFQAl\
             0AAAA/YgYIgcri0AZqBgiJyuLQBnIGCILK4tAGehNUb206IFRlYSBvciBjb2ZmZWU/ggERV2VsbCwgSSBsaWtlIHRlYS6IA\
             QGSAUYKG2h0dHBzOi8vZXhhbXBsZS5jb20vY3VwLnBuZxIJaW1hZ2UvcG5nGhxhIGdyZWVuIGN1cDsg57u/6Imy55qE5p2v\
             5a2QmgEGCIPK4tAGqgEsCAESA29wcxoWc2hlIHNhaWQgc287IOWlueivtOeahCIGCITK4tAGKgNyLTE=",
};

/// As it was before someone changed it.
const FORMER: Golden = Golden {
    id: "10f72dfe-8d6e-564c-a42c-d0783b34cff4",
    shown: &[
        r#"at=1780000004000000"#,
        r#"memory_id="2cca044e-6816-5afe-83f9-e8264a1b272b""#,
        r#"request_id="r-1""#,
        r#"tenant="acme""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYeIDswIKsAIKrQIKJDJjY2EwNDRlLTY4MTYtNWFmZS04M2Y5LWU4MjY0YTFiMjcyYhIICAISBGF\
             ubmEaA3RlYSIiYW5uYSBsaWtlcyB0ZWE7IOWWnOasouWWneiMtiAodGVhKTIEYW5uYToEdGFsa0IKcHJlZmVyZW5jZUoDdG\
             VhUAJdAAAAP2IGCIHK4tAGagYIicri0AZyBgiCyuLQBoIBEVdlbGwsIEkgbGlrZSB0ZWEuiAEBkgFGChtodHRwczovL2V4Y\
             W1wbGUuY29tL2N1cC5wbmcSCWltYWdlL3BuZxocYSBncmVlbiBjdXA7IOe7v+iJsueahOadr+WtkJoBBgiDyuLQBqoBLAgB\
             EgNvcHMaFnNoZSBzYWlkIHNvOyDlpbnor7TnmoQiBgiEyuLQBioDci0x",
};

/// Before a fact had a type and the time of its arrival.
const PLAIN_TEA: Golden = Golden {
    id: "f445508a-cc8b-55ed-9643-2d46dd26a65d",
    shown: &[
        r#"entities=["tea"]"#,
        r#"intent="preference""#,
        r#"occurred_at=1780000001000000"#,
        r#"status="open""#,
        r#"tenant="acme""#,
        r#"user="anna""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYSKBAQp/CiQyY2NhMDQ0ZS02ODE2LTVhZmUtODNmOS1lODI2NGExYjI3MmISCAgCEgRhbm5hGgN\
             0ZWEiImFubmEgbGlrZXMgdGVhOyDllpzmrKLllp3ojLYgKHRlYSkyBGFubmFCCnByZWZlcmVuY2VKA3RlYVABXQAAAD9iBg\
             iByuLQBg==",
};

const STEP: Golden = Golden {
    id: "5d64b473-04a4-55e6-8863-3cbe5f19644d",
    shown: &[
        r#"recorded_at=1780000003000000"#,
        r#"step_index=2"#,
        r#"tenant="acme""#,
        r#"trace_id="t""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYRqSAQokZTFjYmM5ODQtNTlhNi01NzZiLWIxODgtM2I4ZDhiYzRlODY4EggIAhIEYW5uYRoBdCI\
             GCIPK4tAGMlUIAhABGglkb2NrZXJfcHMiD3sibmFtZSI6ImRiLTIifSopZGIg6YeN5ZCv5LitIFJlc3RhcnRpbmcgKDEpID\
             Mgc2Vjb25kcyBhZ28wAVIGCILK4tAG",
};

const RUN: Golden = Golden {
    id: "1bffd91d-d68c-56b6-8758-bff44e5bd7d5",
    shown: &[
        r#"ended_at=1780000060000000"#,
        r#"entities=["db-0"]"#,
        r#"environment=["docker"]"#,
        r#"goal_key="f04274d5-a9d5-5491-b76e-c55f6bf3f48f""#,
        r#"outcome="success""#,
        r#"tenant="acme""#,
        r#"trace_id="t""#,
        r#"visibility="tenant""#,
        r#"worth_reference=true"#,
    ],
    record: "CgRhY21lEgIIASLkAhLhAgokMzQxMjFlMDYtMTI4Zi01YmQwLWEyNGQtY2Q0YzA1YTdkZjBmEscBCgF0EgIIAToY5rWL6K+\
             V546v5aKDIGlzIGRvd24gKHQpQlMQARoJZG9ja2VyX3BzIg97Im5hbWUiOiJkYi0wIn0qKWRiIOmHjeWQr+S4rSBSZXN0YX\
             J0aW5nICgxKSAzIHNlY29uZHMgYWdvMAFSBgiAyuLQBkooCAEaJHRoZSB2b2x1bWUgd2FzIGZ1bGw7IOa4heeQhuWQjuaBo\
             uWkjVIVCgZkb2NrZXISCwoCb3MSBWxpbnV4YgYIgMri0AZqBgi8yuLQBhppCgdzbGljZS8xEiwQARojdGhlIGNvbmNsdXNp\
             b24gbmFtZXMgd2hhdCBpdCBzaG93ZWQlAABAPxgBIhhsb29rZWQgYXQgdGhlIGNvbnRhaW5lcnMoATIGCL3K4tAGWgoKA20\
             tMUUAAAA/IgRkYi0w",
};

/// Before a verdict told how it came about.
const RUN_OF_SLICE: Golden = Golden {
    id: "1bffd91d-d68c-56b6-8758-bff44e5bd7d5",
    shown: &[
        r#"ended_at=1780000060000000"#,
        r#"entities=["db-0"]"#,
        r#"environment=["docker"]"#,
        r#"outcome="success""#,
        r#"tenant="acme""#,
        r#"trace_id="t""#,
        r#"visibility="tenant""#,
        r#"worth_reference=true"#,
    ],
    record: "CgRhY21lEgIIASLYAhLVAgokMzQxMjFlMDYtMTI4Zi01YmQwLWEyNGQtY2Q0YzA1YTdkZjBmEscBCgF0EgIIAToY5rWL6K+\
             V546v5aKDIGlzIGRvd24gKHQpQlMQARoJZG9ja2VyX3BzIg97Im5hbWUiOiJkYi0wIn0qKWRiIOmHjeWQr+S4rSBSZXN0YX\
             J0aW5nICgxKSAzIHNlY29uZHMgYWdvMAFSBgiAyuLQBkooCAEaJHRoZSB2b2x1bWUgd2FzIGZ1bGw7IOa4heeQhuWQjuaBo\
             uWkjVIVCgZkb2NrZXISCwoCb3MSBWxpbnV4YgYIgMri0AZqBgi8yuLQBhpdCgdzbGljZS8xEiwQARojdGhlIGNvbmNsdXNp\
             b24gbmFtZXMgd2hhdCBpdCBzaG93ZWQlAABAPxgBIhhsb29rZWQgYXQgdGhlIGNvbnRhaW5lcnMoATIGCL3K4tAGIgRkYi0\
             w",
};

/// What left for the archive and came back.
const TEA_AWAY: Golden = Golden {
    id: "f445508a-cc8b-55ed-9643-2d46dd26a65d",
    shown: &[
        r#"archived_at=1780000007000000"#,
        r#"entities=["tea"]"#,
        r#"instead="2cca044e-6816-5afe-83f9-e8264a1b272b""#,
        r#"intent="preference""#,
        r#"kind="fact""#,
        r#"occurred_at=1780000001000000"#,
        r#"retained_at=1780000001000000"#,
        r#"state="back""#,
        r#"status="open""#,
        r#"tenant="acme""#,
        r#"type="other""#,
        r#"user="anna""#,
        r#"visibility="user:anna""#,
    ],
    record: "CgRhY21lEggIAhIEYW5uYcIC4wEKjQEKigEKJDJjY2EwNDRlLTY4MTYtNWFmZS04M2Y5LWU4MjY0YTFiMjcyYhIICAISBGFu\
             bmEaA3RlYSIiYW5uYSBsaWtlcyB0ZWE7IOWWnOasouWWneiMtiAodGVhKTIEYW5uYUIKcHJlZmVyZW5jZUoDdGVhUAFdAAAA\
             P2IGCIHK4tAGcgYIgcri0AaIAQYSBgiHyuLQBhobc2F5cyB0aGUgc2FtZTsg6K+05rOV55u45ZCMIiQyY2NhMDQ0ZS02ODE2\
             LTVhZmUtODNmOS1lODI2NGExYjI3MmIqBgiJyuLQBg==",
};

fn tea() -> Memory {
    Memory::Fact(fact(&tenant("acme"), "anna", "tea", 1))
}

fn note() -> Memory {
    let Memory::Fact(tea) = tea() else { panic!("not a fact") };
    Memory::Fact(Fact {
        session: Some(SessionId::new("talk").unwrap()),
        status: FactStatus::Resolved,
        resolved_at: Some(time(3)),
        revision: Some(Revision {
            at: time(4),
            cause: RevisionCause::Updated,
            by: "ops".to_owned(),
            reason: "she said so; 她说的".to_owned(),
            request_id: "r-1".to_owned(),
        }),
        fact_type: FactType::Preference,
        expires_at: Some(time(9)),
        retained_at: time(2),
        surroundings: "Tom: Tea or coffee?".to_owned(),
        original: "Well, I like tea.".to_owned(),
        attachments: vec![Attachment {
            uri: "https://example.com/cup.png".to_owned(),
            media_type: "image/png".to_owned(),
            caption: "a green cup; 绿色的杯子".to_owned(),
        }],
        ..tea
    })
}

fn former() -> MemoryVersion {
    MemoryVersion(note()).bare()
}

fn step() -> Event {
    step_event(&private(&tenant("acme"), "anna"), &trace("t"), 2)
}

fn run() -> Memory {
    experience(&shared(&tenant("acme")), &trace("t"), 60)
}

#[test]
fn records_are_written_like_this() {
    for (point, golden) in [
        (of(&tea()), TEA),
        (of(&note()), NOTE),
        (of(&former()), FORMER),
        (of(&step()), STEP),
        (of(&run()), RUN),
    ] {
        assert_eq!(from_point_id(point.id).unwrap().to_string(), golden.id);
        assert_eq!(shown(&point.payload), golden.shown);
        assert_eq!(text(&point.payload, field::RECORD), Some(golden.record));
    }
}

#[test]
fn records_of_this_version_are_read() {
    let point = |golden: &Golden, visibility: &str| RetrievedPoint {
        id: Some(golden.id.into()),
        payload: HashMap::from([
            (field::TENANT.to_owned(), "acme".into()),
            (field::VISIBILITY.to_owned(), visibility.into()),
            (field::RECORD.to_owned(), golden.record.into()),
        ]),
        ..Default::default()
    };
    assert_eq!(decode::<Memory>(&point(&TEA, "user:anna")).unwrap(), tea());
    assert_eq!(decode::<Memory>(&point(&NOTE, "user:anna")).unwrap(), note());
    assert_eq!(decode::<MemoryVersion>(&point(&FORMER, "user:anna")).unwrap(), former());
    let Memory::Fact(plain) = note() else { panic!("not a fact") };
    let plain = Fact { resolved_at: Some(time(2)), revision: None, ..plain };
    assert_eq!(decode::<Memory>(&point(&PLAIN_NOTE, "user:anna")).unwrap(), Memory::Fact(plain));
    assert_eq!(decode::<Memory>(&point(&PLAIN_TEA, "user:anna")).unwrap(), tea());
    assert_eq!(decode::<Event>(&point(&STEP, "user:anna")).unwrap(), step());
    assert_eq!(decode::<Memory>(&point(&RUN, "tenant")).unwrap(), run());
    let Memory::Experience(mut of_slice) = run() else { panic!("not a run") };
    of_slice.evaluation.judging = Judging::default();
    assert_eq!(decode::<Memory>(&point(&RUN_OF_SLICE, "tenant")).unwrap(), Memory::Experience(of_slice));
}

fn tea_away() -> Archived {
    Archived {
        memory: tea(),
        at: time(7),
        why: "says the same; 说法相同".to_owned(),
        instead: Some(tea().id()),
        restored_at: Some(time(9)),
    }
}

#[test]
fn what_is_in_the_archive_is_written_and_read_like_this() {
    let point = of(&tea_away());
    assert_eq!(from_point_id(point.id.clone()).unwrap().to_string(), TEA_AWAY.id);
    assert_eq!(shown(&point.payload), TEA_AWAY.shown);
    assert_eq!(text(&point.payload, field::RECORD), Some(TEA_AWAY.record));
    let point = RetrievedPoint { id: point.id, payload: point.payload, ..Default::default() };
    assert_eq!(decode::<Archived>(&point).unwrap(), tea_away());
    assert_eq!(decode::<Memory>(&point).unwrap(), tea(), "it is given a vector like any other");
}
