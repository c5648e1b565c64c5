use super::*;

#[test]
fn after_a_failure_it_is_asked_again_by_one_recall_when_the_pause_is_over() {
    let (absence, start) = (Absence::default(), Instant::now());
    assert!(absence.may_ask(start));
    absence.begins(start, "gone");
    assert!(!absence.may_ask(start + PAUSE / 2));
    assert!(absence.may_ask(start + PAUSE));
    assert!(!absence.may_ask(start + PAUSE), "another recall at the same time does not wait for it too");
    absence.ends();
    assert!(absence.may_ask(start + PAUSE));
}
