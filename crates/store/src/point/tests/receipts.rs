//! Receipts as this version writes them, and as they were written before.

use hindsight_ports::testkit::samples::time;
use hindsight_types::{
    ArmReport, Asked, Environment, Feedback, FeedbackVerdict, Funnel, MemoryId, MemoryKind, OutcomeStatus,
    Period, RecalledItem, Receipt, ReceiptId, ScoreFactors, SimilarityParts, Withheld, WithheldReason,
};

use super::*;

/// Before a receipt told what was asked and how many got how far.
const RECEIPT_OF_BEFORE: &str = "CgRhY21lEggIAhIEYW5uYTKIAgokMDE5MDVhMWUtN2UxMS03MDAwLTgwMDAtMDAwMDAwMDAwMDAxEggIAhIEYW5uYRofd2hh\
             dCBkb2VzIGFubmEgZHJpbms/IOWWneS7gOS5iCIGCLzK4tAGKhAIARIKZGVuc2UrYm0yNRgCMmgKJDJjY2EwNDRlLTY4MTYt\
             NWFmZS04M2Y5LWU4MjY0YTFiMjcyYhABGiMNAAAAPxUAAIA/HQAAQD8lAACAPy0AAAA/NQAAgD89AABAPiIZbWF0Y2hlcyB0\
             aGUgd29yZHMgImRyaW5rIjovCiQxNjg1Zjg1Ni0wMWQ1LTVhZGEtODBiYS0xZmEzYzMxNWExZWQQAR0AAAA+IAFQKg==";
const RECEIPT: &str = "CgRhY21lEggIAhIEYW5uYTKkAwokMDE5MDVhMWUtN2UxMS03MDAwLTgwMDAtMDAwMDAwMDAwMDAxEggIAhIEYW5uYRofd2hh\
             dCBkb2VzIGFubmEgZHJpbms/IOWWneS7gOS5iCIGCLzK4tAGKg4IARIIZW50aXRpZXMYAjKaAQokMmNjYTA0NGUtNjgxNi01\
             YWZlLTgzZjktZTgyNjRhMWIyNzJiEAEaLw0AAAA/FQAAgD8dAABAPyUAAIA/LQAAAD81AACAPz0AAEA+QgoNAACAPjUAAAA/\
             IhltYXRjaGVzIHRoZSB3b3JkcyAiZHJpbmsiKiQxNjg1Zjg1Ni0wMWQ1LTVhZGEtODBiYS0xZmEzYzMxNWExZWQ6VQokMTY4\
             NWY4NTYtMDFkNS01YWRhLTgwYmEtMWZhM2MzMTVhMWVkEAEdAAAAPiABKiQyY2NhMDQ0ZS02ODE2LTVhZmUtODNmOS1lODI2\
             NGExYjI3MmJQKloxCgEBEAMY3AsiCAoGZG9ja2VyODJFAACAPkoQCgYIgMri0AYSBgi8yuLQBlIEYW5uYWIQCAkQBBoECAEQ\
             AhoECAcQAQ==";
const FEEDBACK: &str = "CgRhY21lEggIAhIEYW5uYVpmCiQyY2NhMDQ0ZS02ODE2LTVhZmUtODNmOS1lODI2NGExYjI3MmIQAhoBdCABKgnor7Tlr7nk\
             uoYyBgj4yuLQBjokMDE5MDVhMWUtN2UxMS03MDAwLTgwMDAtMDAwMDAwMDAwMDAx";

fn of_before() -> Receipt {
    let memory = |key: &str| MemoryId::fact(&tenant("acme"), &user("anna"), key);
    Receipt {
        id: ReceiptId(Uuid::from_u128(0x0190_5a1e_7e11_7000_8000_0000_0000_0001)),
        scope: private(&tenant("acme"), "anna"),
        query: "what does anna drink? 喝什么".to_owned(),
        asked: None,
        at: time(60),
        arms: vec![ArmReport {
            kind: MemoryKind::Fact,
            arm: "dense+bm25".to_owned(),
            candidates: 2,
            dropped: String::new(),
        }],
        funnel: None,
        injected: vec![RecalledItem {
            memory_id: memory("tea"),
            kind: MemoryKind::Fact,
            factors: ScoreFactors {
                similarity: 0.5,
                parts: SimilarityParts::default(),
                decay: 1.0,
                reliability: 0.75,
                environment: 1.0,
                trust: 0.5,
                stage: 1.0,
            },
            why: "matches the words \"drink\"".to_owned(),
            supersedes: Vec::new(),
        }],
        withheld: vec![Withheld {
            memory_id: memory("coffee"),
            kind: MemoryKind::Fact,
            score: 0.125,
            reason: WithheldReason::BelowFloor,
            instead: None,
        }],
        degraded: false,
        empty_reason: String::new(),
        tokens: 42,
    }
}

fn receipt() -> Receipt {
    let mut receipt = of_before();
    receipt.arms[0].arm = "entities".to_owned();
    receipt.injected[0].factors.parts =
        SimilarityParts { words: 0.25, rerank: Some(0.5), ..Default::default() };
    receipt.injected[0].supersedes = vec![receipt.withheld[0].memory_id];
    receipt.withheld[0].instead = Some(receipt.injected[0].memory_id);
    Receipt {
        asked: Some(Asked {
            kinds: vec![MemoryKind::Fact],
            limit: 3,
            token_budget: 1_500,
            environment: Environment { tags: vec!["docker".to_owned()], ..Environment::default() },
            agent: None,
            task_type: None,
            asked_at: None,
            time_zone: String::new(),
            candidates: 50,
            floor: 0.25,
            period: Some(Period { from: time(0), until: time(60) }),
            names: vec!["anna".to_owned()],
            watched: None,
        }),
        funnel: Some(Funnel {
            distinct: 9,
            shortlisted: 4,
            withheld: vec![(WithheldReason::BelowFloor, 2), (WithheldReason::Expired, 1)],
        }),
        ..receipt
    }
}

fn feedback() -> Feedback {
    Feedback {
        receipt_id: receipt().id,
        memory_id: receipt().injected[0].memory_id,
        scope: receipt().scope,
        verdict: FeedbackVerdict::Helpful,
        trace_id: Some(trace("t")),
        outcome: OutcomeStatus::Success,
        note: "说对了".to_owned(),
        at: time(120),
    }
}

#[test]
fn receipts_are_written_like_this() {
    let written = [(of(&receipt()), RECEIPT), (of(&feedback()), FEEDBACK)];
    for (point, golden) in written {
        let at = if golden == RECEIPT { 60 } else { 120 };
        let shown_at = format!("at={}", time(at).as_microsecond());
        let injected = r#"injected=["2cca044e-6816-5afe-83f9-e8264a1b272b"]"#;
        let memory = r#"memory_id="2cca044e-6816-5afe-83f9-e8264a1b272b""#;
        let mut expected = vec![shown_at.as_str()];
        expected.push(if golden == RECEIPT { injected } else { memory });
        expected.extend([r#"tenant="acme""#, r#"visibility="user:anna""#]);
        assert_eq!(shown(&point.payload), expected);
        assert_eq!(text(&point.payload, field::RECORD), Some(golden));
    }
}

#[test]
fn receipts_of_every_version_are_read() {
    let point = |key: Uuid, record: &str| RetrievedPoint {
        id: Some(to_point_id(id(&tenant("acme"), key))),
        payload: HashMap::from([
            (field::TENANT.to_owned(), "acme".into()),
            (field::VISIBILITY.to_owned(), "user:anna".into()),
            (field::RECORD.to_owned(), record.into()),
        ]),
        ..Default::default()
    };
    let of = |record: &str| decode::<Receipt>(&point(receipt().id.0, record)).unwrap();
    assert_eq!(of(RECEIPT), receipt());
    assert_eq!(of(RECEIPT_OF_BEFORE), of_before());
    assert_eq!(decode::<Feedback>(&point(Stored::key(&feedback()), FEEDBACK)).unwrap(), feedback());
}
