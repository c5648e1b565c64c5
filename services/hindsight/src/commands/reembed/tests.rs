use super::*;

fn embedder(model: &str) -> Option<Embedder> {
    Some(Embedder { model: model.to_owned(), dimension: 384 })
}

fn settled(model: &str) -> GetEmbedderResponse {
    GetEmbedderResponse { serving: embedder(model), configured: embedder(model), ..Default::default() }
}

#[test]
fn what_serves_is_said() {
    assert_eq!(text(&settled("hashing-v1")), "embedder  hashing-v1 (384 dimensions)");
}

#[test]
fn a_change_is_said_with_how_far_it_is_and_what_is_in_its_way() {
    let build = Reembedding {
        embedder: embedder("dir:e5"),
        total: 1_000,
        done: 420,
        skipped: 10,
        percent: 43,
        left: Some(prost_types::Duration { seconds: 61, nanos: 0 }),
        ..Default::default()
    };
    let trouble = "the endpoint is away".to_owned();
    let state = GetEmbedderResponse {
        configured: embedder("dir:e5"),
        reembedding: Some(build),
        trouble,
        ..settled("hashing-v1")
    };
    let said = text(&state);
    assert!(
        said.contains("changing  to dir:e5 (384 dimensions): 43 % re-encoded, 420 of 1000 memories"),
        "{said}"
    );
    assert!(said.contains(", 2 min left, 10 refused by it"), "{said}");
    assert!(said.ends_with("trouble   the endpoint is away"), "{said}");
}

#[test]
fn a_change_that_nobody_begins_is_said() {
    let state = GetEmbedderResponse { configured: embedder("dir:e5"), ..settled("hashing-v1") };
    assert!(text(&state).contains("waiting   to change to dir:e5"), "{}", text(&state));
}
