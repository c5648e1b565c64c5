//! What a recall is worth while the store changes its embedder.

use hindsight_ports::{EmbedderId, MemoryStore as _};

use crate::common::{World, ask, experience};

#[tokio::test]
async fn memories_without_a_vector_are_found_by_words_and_it_is_said() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", "the api container restarts in a loop")]).await;
    // As after a restart with another embedder.
    world.vectors.prepare(&EmbedderId { model: "another".to_owned(), dimension: 8 }).await.unwrap();
    let answer = world.recall(ask("api container restarts")).await.unwrap();
    assert_eq!(answer.items.len(), 1, "{answer:?}");
    assert!(answer.degraded);
    let dense = answer.arms.iter().filter(|arm| arm.arm == "dense").collect::<Vec<_>>();
    assert!(
        !dense.is_empty() && dense.iter().all(|arm| arm.dropped.contains("configured with another")),
        "{answer:?}"
    );
    assert!(answer.arms.iter().any(|arm| arm.arm == "bm25" && arm.dropped.is_empty()), "{answer:?}");
}
