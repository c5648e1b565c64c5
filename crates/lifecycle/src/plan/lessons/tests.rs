use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const STAGES: [Stage; 4] = [Stage::Candidate, Stage::Canary, Stage::Active, Stage::Retired];

fn staged(n: u128, has: Stage, due: Stage) -> Staged {
    Staged { lesson: MemoryId(Uuid::from_u128(n)), has, due, unheard: false }
}

#[test]
fn a_task_says_which_lessons_move_where() {
    use Stage::{Active, Canary, Candidate, Retired};
    let lessons = [
        staged(1, Candidate, Canary),
        staged(2, Active, Active),
        staged(3, Active, Retired),
        staged(4, Candidate, Canary),
    ];
    let plan = plan(&lessons);
    assert_eq!(plan.len(), 1);
    assert_eq!(plan[0].why, "by their evidence: 2 candidate → canary, 1 active → retired");
    assert_eq!(plan[0].work.names().len(), 3);
}

#[test]
fn a_task_looks_at_candidates_whose_runs_were_not_heard() {
    use Stage::{Active, Candidate};
    let unheard = |n| Staged { unheard: true, ..staged(n, Candidate, Candidate) };
    let lessons = [unheard(1), staged(2, Candidate, Candidate), unheard(3), staged(4, Candidate, Active)];
    let plan = plan(&lessons);
    assert_eq!(plan.len(), 1);
    assert_eq!(
        plan[0].why,
        "by their evidence: 1 candidate → active, 2 taught by runs that are not heard yet"
    );
    assert_eq!(plan[0].work.names().len(), 3);
}

proptest! {
    #[test]
    fn planning_again_after_the_plan_was_carried_out_plans_nothing(
        lessons in proptest::collection::vec((0..500_u128, 0..4_usize, 0..4_usize), 0..80),
    ) {
        let mut rows: Vec<Staged> =
            lessons.into_iter().map(|(n, has, due)| staged(n, STAGES[has], STAGES[due])).collect();
        rows.sort_by_key(|l| l.lesson);
        rows.dedup_by_key(|l| l.lesson);
        let wrong = rows.iter().filter(|l| l.has != l.due).count();
        let named: usize = plan(&rows).iter().map(|p| p.work.names().len()).sum();
        prop_assert_eq!(named, wrong);
        rows.iter_mut().for_each(|l| l.has = l.due);
        prop_assert_eq!(plan(&rows), vec![]);
    }
}
