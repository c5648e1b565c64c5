//! What every vector backend must do: what Qdrant's documentation promises, as far as the store relies on
//! it. Each case creates collections of its own with unique names, so that all of them may run against one
//! server, at the same time.

mod build;
mod conditional;
mod filters;
mod indexes;
mod points;
mod refusals;
mod scrolls;
mod searches;
mod vector_names;

pub use self::{
    conditional::*, filters::*, indexes::*, points::*, refusals::*, scrolls::*, searches::*, vector_names::*,
};

/// Calls `$case!(name)` for every case of the suite; each is `async fn(Arc<dyn VectorBackend>)`.
#[macro_export]
macro_rules! for_each_backend_case {
    ($case:ident) => {
        $case!(creates_a_collection_once);
        $case!(describes_a_collection);
        $case!(writes_and_reads_whole_points);
        $case!(overwrites_a_point_as_a_whole);
        $case!(returns_the_asked_part_of_a_point);
        $case!(merges_payload_by_ids_and_by_filter);
        $case!(deletes_by_ids_and_by_filter);
        $case!(keeps_every_kind_of_payload_value);
        $case!(filters_by_every_condition);
        $case!(combines_conditions);
        $case!(filters_times);
        $case!(filters_text);
        $case!(filters_alike_with_and_without_an_index);
        $case!(finds_the_nearest_dense_vectors);
        $case!(finds_the_nearest_sparse_vectors);
        $case!(weighs_rare_words_more);
        $case!(cuts_a_search_by_filter_threshold_limit_and_offset);
        $case!(fuses_by_reciprocal_rank);
        $case!(fuses_by_score_distribution);
        $case!(pages_through_all_points_once);
        $case!(scrolls_in_the_order_of_a_field);
        $case!(counts);
        $case!(creates_each_kind_of_index_any_number_of_times);
        $case!(counts_facets);
        $case!(updates_only_what_the_condition_matches);
        $case!(lets_exactly_one_of_two_conditional_writers_win);
        $case!(inserts_only_or_updates_only_when_told);
        $case!(gives_a_collection_a_vector_and_takes_one_away);
        $case!(updates_vectors_and_nothing_else);
        $case!(updates_the_vectors_of_what_the_condition_matches);
        $case!(refuses_what_does_not_exist);
        $case!(refuses_vectors_that_do_not_fit);
    };
}
