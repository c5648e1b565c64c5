//! What becomes of a fact: corrected, told, restored; and of an anonymous id.

use serde_json::Value;

use crate::support::Home;

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("no {path} in {value}"))
}

#[test]
fn a_fact_is_corrected_its_history_shown_and_a_version_restored() {
    let home = Home::new();
    let server = home.serve(&[]);
    let retained = home.json(&["retain", "--user", "mei", "--key", "seat", "我喜欢靠窗的座位"]);
    let id = text(&retained, "/memory_id");
    let update = |more: &[&str]| {
        let args = [&["memories", "update", id, "--user", "mei", "--reason", "她打电话来说"], more].concat();
        home.run(&[&["--json"], &args[..]].concat())
    };
    let changed = update(&["--content", "我喜欢靠过道的座位", "--confidence", "0.9"]);
    assert_eq!(changed.code(), 0, "{}", changed.stderr());
    let changed = changed.json();
    assert_eq!(text(&changed, "/memory/fact/content"), "我喜欢靠过道的座位");

    let history = home.json(&["memories", "history", id, "--user", "mei"]);
    assert_eq!(text(&history, "/present/version"), text(&changed, "/etag"));
    assert_eq!(text(&history, "/former/0/memory/fact/content"), "我喜欢靠窗的座位");
    let shown = home.run(&["memories", "history", id, "--user", "mei"]).stdout();
    assert!(shown.contains("updated by none: 她打电话来说") && shown.contains("learned"), "{shown}");

    let first = text(&history, "/former/0/version").to_owned();
    let late = update(&["--status", "resolved", "--etag", &first]);
    assert_eq!(late.code(), 75, "it is not as it was read: {}", late.stderr());
    assert!(late.stderr().contains("read it again"), "{}", late.stderr());

    let restore = ["memories", "restore-version", id, &first, "--user", "mei", "--reason", "说错了"];
    let restored = home.json(&restore);
    assert_eq!(text(&restored, "/memory/fact/content"), "我喜欢靠窗的座位");
    assert_eq!(
        home.json(&["memories", "history", id, "--user", "mei"])["former"].as_array().unwrap().len(),
        2
    );

    assert_eq!(update(&[]).code(), 64, "nothing is named that changes");
    assert_eq!(update(&["--advice", "x", "--content", "y"]).code(), 64);
    assert_eq!(home.run(&["memories", "history", id, "--user", "tom"]).code(), 66);
    drop(server);
}

#[test]
fn an_anonymous_id_is_merged_into_a_user_and_back() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["retain", "--user", "visitor-7", "--key", "seat", "I prefer the window seat"]);
    home.json(&["retain", "--user", "tom", "--key", "seat", "I prefer the aisle seat"]);
    let contents = |user: &str| -> Vec<String> {
        let facts = home.json(&["memories", "--kind", "fact", "--user", user]);
        let facts = facts["memories"].as_array().unwrap().clone();
        facts.iter().map(|f| text(f, "/fact/content").to_owned()).collect()
    };
    let merge = home.json(&["subjects", "merge", "visitor-7", "tom", "--reason", "signed in"]);
    assert_eq!(
        (text(&merge, "/merge/state"), merge["merge"]["facts"].as_u64()),
        ("MERGE_STATE_MERGED", Some(1))
    );
    assert_eq!(contents("tom"), ["I prefer the aisle seat"], "the newer stands");
    assert!(contents("visitor-7").is_empty());

    // What the anonymous id says meanwhile is the user's.
    home.json(&["retain", "--user", "visitor-7", "--key", "food", "I eat no nuts"]);
    assert_eq!(contents("tom").len(), 2);
    // Forgetting the one id would forget nothing of this.
    let refused = home.run(&["forget", "visitor-7", "--yes"]);
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr().contains("forget `tom`, or undo the merge"), "{}", refused.stderr());

    let told = home.run(&["subjects", "undo", "visitor-7"]);
    assert!(told.stdout().contains("are back"), "{}{}", told.stdout(), told.stderr());
    assert_eq!(contents("tom"), ["I prefer the aisle seat"]);
    let mut back = contents("visitor-7");
    back.sort();
    assert_eq!(back, ["I eat no nuts", "I prefer the window seat"]);
    assert_eq!(home.run(&["subjects", "undo", "nobody"]).code(), 66);
    assert_eq!(home.run(&["memories", "conflicts", "--user", "tom"]).code(), 0);
    drop(server);
}
