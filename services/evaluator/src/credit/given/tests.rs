use hindsight_types::{ReceiptId, TenantId, Timestamp, Visibility, Withheld, WithheldReason};
use uuid::Uuid;

use super::*;

fn receipt(n: u8, withheld: &[(u128, MemoryKind, WithheldReason)]) -> Receipt {
    let scope = Scope::new(TenantId::new("acme").unwrap(), Visibility::Tenant);
    let one = |(id, kind, reason): &(u128, MemoryKind, WithheldReason)| Withheld {
        memory_id: MemoryId(Uuid::from_u128(*id)),
        kind: *kind,
        score: 0.5,
        reason: *reason,
        instead: None,
    };
    Receipt {
        id: ReceiptId(Uuid::from_u128(n.into())),
        scope,
        query: String::new(),
        asked: None,
        at: Timestamp::from_second(n.into()).unwrap(),
        arms: Vec::new(),
        funnel: None,
        injected: Vec::new(),
        withheld: withheld.iter().map(one).collect(),
        degraded: false,
        empty_reason: String::new(),
        tokens: 0,
    }
}

#[test]
fn only_what_chance_kept_back_is_in_an_arm() {
    let all = [
        (1, MemoryKind::Lesson, WithheldReason::Control),
        (2, MemoryKind::Lesson, WithheldReason::HoldOut),
        (3, MemoryKind::Lesson, WithheldReason::Budget),
        (4, MemoryKind::Lesson, WithheldReason::Stage),
    ];
    let arms = arms(vec![receipt(1, &all)]);
    let ids: Vec<u128> = arms.keys().map(|id| id.0.as_u128()).collect();
    assert_eq!(ids, [1, 2]);
    assert!(arms.values().all(|arm| arm.exposure == Exposure::Withheld));
}

#[test]
fn the_first_recall_decides_whatever_order_the_run_names_them_in() {
    let withheld = receipt(1, &[(1, MemoryKind::Lesson, WithheldReason::Control)]);
    let mut given = receipt(2, &[]);
    given.injected = vec![hindsight_types::RecalledItem {
        memory_id: MemoryId(Uuid::from_u128(1)),
        kind: MemoryKind::Lesson,
        factors: hindsight_types::ScoreFactors {
            similarity: 1.0,
            parts: Default::default(),
            decay: 1.0,
            reliability: 1.0,
            environment: 1.0,
            trust: 1.0,
            stage: 1.0,
        },
        why: String::new(),
        supersedes: Vec::new(),
    }];
    for receipts in [vec![withheld.clone(), given.clone()], vec![given, withheld]] {
        let arms = arms(receipts);
        assert_eq!(arms.values().map(|arm| arm.exposure).collect::<Vec<_>>(), [Exposure::Withheld]);
    }
}
