use hindsight_ports::testkit::samples::{fact, lesson, private, tenant, time};
use hindsight_types::RevisionCause;

use super::*;

fn tea(retained: i64, content: &str) -> Fact {
    Fact {
        content: content.to_owned(),
        retained_at: time(retained),
        ..fact(&tenant("acme"), "anna", "tea", 1)
    }
}

fn revised(fact: Fact, at: i64) -> Fact {
    Fact { revision: Some(revision(at)), ..fact }
}

fn revision(at: i64) -> Revision {
    Revision {
        at: time(at),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "she said so; 她说的".to_owned(),
        request_id: String::new(),
    }
}

#[test]
fn the_newest_statement_stands_with_its_latest_change() {
    let (old, new) = (tea(1, "green tea"), tea(2, "black tea; 红茶"));
    let replaces = Place::Replaces { leaves: true };
    assert_eq!((place(&old, &new), place(&new, &old)), (replaces, Place::Former));
    // The same message twice, also after it was corrected.
    let corrected = revised(old.clone(), 9);
    assert_eq!((place(&old, &old), place(&corrected, &old)), (Place::Stored, Place::Former));
    assert_eq!(place(&corrected, &new), Place::Replaces { leaves: true }, "said again after all");
    // What surrounds it is no change of it.
    let surrounded = Fact { surroundings: "Tom: tea?".to_owned(), ..old.clone() };
    assert_eq!(place(&old, &surrounded), Place::Replaces { leaves: false });
}

#[test]
fn a_change_is_of_the_same_memory_and_comes_after() {
    let former = Memory::Fact(revised(tea(1, "green tea"), 5));
    let next = |at| Memory::Fact(revised(tea(1, "black tea"), at));
    let at = |memory: Memory| memory.revision().map(|r| r.at).unwrap();
    assert_eq!(at(next_of(&former, &next(7)).unwrap()), time(7));
    let late = at(next_of(&former, &next(3)).unwrap());
    assert_eq!(late, time(5).checked_add(Duration::from_micros(1)).unwrap(), "clocks differ");
    let other = Memory::Fact(Fact { id: hindsight_types::MemoryId(Uuid::nil()), ..tea(1, "x") });
    let plain = Memory::Fact(tea(1, "nobody says why"));
    for refused in [other, plain, Memory::Lesson(lesson(&private(&tenant("acme"), "anna"), "x", &[], 1))] {
        assert!(matches!(next_of(&former, &refused), Err(StoreError::Rejected(_))), "{refused:?}");
    }
}

#[test]
fn a_new_encoding_is_of_the_surroundings_that_are_stored() {
    let former = tea(1, "green tea");
    let next = Memory::Fact(revised(tea(1, "black tea"), 5));
    let stored = Memory::Fact(Fact { surroundings: "Tom: tea?".to_owned(), ..former.clone() });
    let former = Memory::Fact(former);
    assert_eq!(onto(&stored, &former, &next, true), None);
    let Some(Memory::Fact(kept)) = onto(&stored, &former, &next, false) else { panic!() };
    assert_eq!((kept.content.as_str(), kept.surroundings.as_str()), ("black tea", "Tom: tea?"));
}
