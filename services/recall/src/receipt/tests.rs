use hindsight_types::MemoryKind;

use super::*;

fn report(kind: MemoryKind, arm: &str, dropped: &str) -> ArmReport {
    ArmReport { kind, arm: arm.to_owned(), candidates: 0, dropped: dropped.to_owned() }
}

#[test]
fn what_was_not_searched_is_named_before_what_was_not_found() {
    let (fact, lesson) = (MemoryKind::Fact, MemoryKind::Lesson);
    let reports =
        [report(fact, "dense", "deadline"), report(lesson, "dense", "deadline"), report(fact, "bm25", "")];
    assert_eq!(
        empty_reason(&reports, "nothing is near"),
        "not searched: fact dense, lesson dense (deadline); nothing is near"
    );
    assert_eq!(empty_reason(&reports[..2], "nothing is near"), "nothing was searched (deadline)");
    assert_eq!(empty_reason(&reports[2..], "nothing is near"), "nothing is near");
    assert!(empty_reason(&[], "").contains("no word"));
}

#[test]
fn reasons_are_counted_in_the_order_of_the_best() {
    let id = hindsight_types::MemoryId(Default::default());
    let one = |reason| Withheld { memory_id: id, kind: MemoryKind::Fact, score: 0.1, reason, instead: None };
    let withheld = [WithheldReason::Budget, WithheldReason::BelowFloor, WithheldReason::Budget].map(one);
    assert_eq!(by_reason(&withheld), [(WithheldReason::Budget, 2), (WithheldReason::BelowFloor, 1)]);
}

#[test]
fn what_chance_kept_back_is_told_however_much_is_before_it() {
    let one = |n: u128, reason| Withheld {
        memory_id: hindsight_types::MemoryId(uuid::Uuid::from_u128(n)),
        kind: MemoryKind::Lesson,
        score: 0.1,
        reason,
        instead: None,
    };
    let mut all: Vec<Withheld> = (0..60).map(|n| one(n, WithheldReason::Budget)).collect();
    all.push(one(60, WithheldReason::Control));
    let told = withheld(&all);
    assert_eq!((told.len(), told.last()), (WITHHELD + 1, all.last()));
}
