//! Lessons: what is known of them, and what people say.

use serde_json::Value;

use crate::support::{Home, examples};

fn lessons(home: &Home, stage: &str) -> Vec<Value> {
    let listed = home.json(&["lessons", "--stage", stage]);
    listed["lessons"].as_array().unwrap().clone()
}

#[test]
fn lessons_are_listed_approved_and_rejected() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", examples().to_str().unwrap()]);
    let all = home.json(&["lessons"])["lessons"].as_array().unwrap().clone();
    assert!(all.len() >= 2, "the runs teach something: {all:?}");
    let ids: Vec<&str> = all.iter().map(|l| l["lesson"]["memory_id"].as_str().unwrap()).collect();
    assert!(lessons(&home, "active").is_empty(), "nothing serves that was learned from one run");

    let approved = home.json(&["lessons", "approve", ids[0], "--reason", "we do it like that; 我们这样做"]);
    assert_eq!(approved["lesson"]["standing"]["stage"], "STAGE_ACTIVE");
    assert_eq!(approved["review"]["reason"], "we do it like that; 我们这样做");
    home.json(&["lessons", "reject", ids[1], "--reason", "it is dangerous"]);
    let stage = |stage| {
        let found = lessons(&home, stage);
        found.iter().map(|l| l["lesson"]["memory_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((stage("active"), stage("retired")), (vec![ids[0].to_owned()], vec![ids[1].to_owned()]));

    let text = home.run(&["lessons", "--stage", "retired"]).stdout();
    assert!(
        text.starts_with("retired") && text.contains("it is dangerous") && text.contains("an approval"),
        "{text}"
    );
    let text = home.run(&["lessons", "--stage", "candidate"]).stdout();
    assert!(all.len() == 2 || text.contains("next  a run, other than the one that taught it"), "{text}");
    let unknown = home.run(&["lessons", "approve", "not-an-id", "--reason", "x"]);
    assert!(unknown.code() != 0 && unknown.stderr().contains("memory_id"), "{}", unknown.stderr());
    drop(server);
}
