//! Another embedder is configured, and nothing else is done about it.

use serde_json::Value;

use crate::support::{Home, examples, recalled};

const TASK: &str = "the test environment is down: a container keeps restarting";

fn model(state: &Value, of: &str) -> String {
    state[of]["model"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_data_directory_changes_its_embedder_by_itself() {
    let home = Home::new();
    let hashing = home.file("hashing.toml", "[embedder]\nkind = \"hashing\"\n");
    let with_hashing = |args: &[&str]| home.json(&[&["--config", hashing.to_str().unwrap()], args].concat());
    let runs = examples();
    with_hashing(&["import", runs.to_str().unwrap()]);
    let before = with_hashing(&["reembed"]);
    assert_eq!(model(&before, "serving"), model(&before, "configured"));
    let told = home.run(&["--config", hashing.to_str().unwrap(), "stats"]).stdout();
    assert!(told.contains("embedder  hashing-v"), "{told}");

    // With the default, that is another one.
    let found = home.json(&["recall", TASK]);
    assert!(recalled(&found)[0].starts_with("incident-"), "{found}");
    let after = home.json(&["reembed", "--wait"]);
    assert_ne!(model(&after, "serving"), model(&before, "serving"));
    assert_eq!(model(&after, "serving"), model(&after, "configured"));
    assert_eq!(after["reembedding"], Value::Null, "{after}");
    let again = home.json(&["recall", TASK]);
    assert!(again["arms"].as_array().unwrap().iter().all(|arm| arm["dropped"] == ""), "{again}");

    // A server with the former one goes back.
    let server = home.serve(&["--config", hashing.to_str().unwrap()]);
    let back = home.json(&["reembed", "--wait"]);
    assert_eq!(model(&back, "serving"), model(&before, "serving"));
    assert!(recalled(&home.json(&["recall", TASK]))[0].starts_with("incident-"));
    drop(server);
}
