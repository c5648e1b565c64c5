//! The suite every [`MemoryStore`] must pass. [`memory_store_suite!`](crate::memory_store_suite) makes a test
//! of each check. Each check takes a tenant of its own, so that they may share a store.
#![allow(clippy::unwrap_used)]

mod events;
mod ledger;
mod lists;
mod memories;
mod merges;
mod receipts;
mod searches;
mod sessions;
mod tasks;

pub use events::{
    events_are_stored_once, events_come_in_order, events_stay_in_their_scope, large_events, many_events,
};
pub use ledger::{
    all_counts_follow_the_ledger, evaluations_are_replaced_and_listed, former_verdicts_are_kept,
    judged_runs_are_found_for_upkeep, lesson_counts_follow_the_ledger, lines_of_a_run_are_joined,
    reevaluations_are_kept,
};
pub use lists::{
    lists_are_newest_first, pages_cover_equal_times, pages_survive_writes, tokens_fit_one_list_only,
};
pub use memories::{
    another_embedder_is_taken, every_kind_comes_back, facts_are_of_one_user, memories_are_replaced,
    memories_stay_in_their_scope, statistics_count_what_is_visible, tenants_may_use_the_same_ids,
};
pub use merges::{
    concurrent_writers_lose_nothing, patterns_merge_across_runs, promoted_lessons_stay_promoted,
    sources_are_bounded,
};
pub use receipts::{receipts_are_kept, receipts_expire, the_last_word_on_a_memory_counts};
pub use searches::{
    an_empty_arm_finds_nothing, candidates_are_best_first, candidates_come_with_their_vectors,
    each_arm_finds_its_own, names_are_found_however_they_are_written, obsolete_facts_are_not_found,
    searches_are_narrowed, searches_stay_in_their_scope, unusable_searches_are_refused,
};
pub use sessions::{facts_of_a_session_are_found_around_a_time, newer_facts_stay};
pub use tasks::open_tasks_are_found_when_idle;

/// One test per check. `$open` is a future of anything whose `.store` is an `Arc<dyn MemoryStore>` that is
/// prepared for [`samples::embedder`](crate::testkit::samples::embedder); it is dropped after the check.
#[macro_export]
macro_rules! memory_store_suite {
    ($open:expr) => {
        $crate::memory_store_suite! { $open =>
            all_counts_follow_the_ledger an_empty_arm_finds_nothing another_embedder_is_taken candidates_are_best_first
            candidates_come_with_their_vectors each_arm_finds_its_own names_are_found_however_they_are_written
            concurrent_writers_lose_nothing
            evaluations_are_replaced_and_listed events_are_stored_once events_come_in_order
            events_stay_in_their_scope every_kind_comes_back lines_of_a_run_are_joined facts_are_of_one_user
            former_verdicts_are_kept judged_runs_are_found_for_upkeep large_events lesson_counts_follow_the_ledger lists_are_newest_first many_events memories_are_replaced
            facts_of_a_session_are_found_around_a_time newer_facts_stay memories_stay_in_their_scope obsolete_facts_are_not_found open_tasks_are_found_when_idle pages_cover_equal_times
            pages_survive_writes patterns_merge_across_runs promoted_lessons_stay_promoted receipts_are_kept
            receipts_expire reevaluations_are_kept the_last_word_on_a_memory_counts
            searches_are_narrowed searches_stay_in_their_scope sources_are_bounded
            statistics_count_what_is_visible tenants_may_use_the_same_ids tokens_fit_one_list_only
            unusable_searches_are_refused
        }
    };
    ($open:expr => $($check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                let opened = $open.await;
                $crate::testkit::store::$check(opened.store.clone()).await;
            }
        )*
    };
}
