use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const HOUR: i64 = 3_600;

fn at(hour: i64) -> Timestamp {
    Timestamp::from_second(hour * HOUR).unwrap()
}

#[test]
fn a_week_and_a_month_are_counted_up_to_now() {
    let now = at(10_000);
    let ends = [at(10_001), now, at(10_000 - 167), at(10_000 - 168), at(10_000 - 719), at(10_000 - 720)];
    assert_eq!(frequency(&ends, now), Frequency { counted_at: now, week: 2, month: 4 });
}

proptest! {
    #[test]
    fn planning_again_after_the_plan_was_carried_out_plans_nothing(
        patterns in proptest::collection::vec(
            (0..40_u128, proptest::collection::vec(0..3_000_i64, 0..6), proptest::option::of((0..4_u32, 0..4_u32))),
            0..80,
        ),
    ) {
        let now = at(3_000);
        let mut rows: Vec<Seen> = patterns
            .into_iter()
            .map(|(id, ends, counted)| Seen {
                pattern: MemoryId(Uuid::from_u128(id)),
                counted: counted.map(|(week, month)| Frequency { counted_at: at(2_000), week, month }),
                ends: ends.into_iter().map(at).collect(),
            })
            .collect();
        rows.sort_by_key(|seen| seen.pattern);
        rows.dedup_by_key(|seen| seen.pattern);
        for row in &mut rows {
            if let Some(next) = counted(row, now) {
                row.counted = Some(next);
            }
        }
        prop_assert_eq!(plan(&rows, now), vec![]);
    }
}
