use qdrant_client::qdrant::CreateCollection;
use serde_json::json;

use super::*;

fn stripped(state: &Value) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let segment = dir.path().join("segments/one");
    fs::create_dir_all(&segment).unwrap();
    fs::write(segment.join("segment.json"), state.to_string()).unwrap();
    let (_, schema) = collection_to_engine(&CreateCollection::default()).unwrap();
    strip(dir.path(), &schema).unwrap();
    serde_json::from_slice(&fs::read(segment.join("segment.json")).unwrap()).unwrap()
}

#[test]
fn what_a_segment_does_not_have_is_not_written_into_its_state() {
    let state = |vectors: Value| json!({"version": 7, "config": {"vector_data": vectors, "payload": "mmap"}});
    assert_eq!(stripped(&state(json!({"unknown": {"size": 8}}))), state(json!({})));
    let sparse = json!({"config": {"sparse_vector_data": {"unknown": {}}}});
    assert_eq!(stripped(&sparse), json!({"config": {"sparse_vector_data": {}}}));
    assert_eq!(stripped(&json!({"version": 7})), json!({"version": 7}));
}
