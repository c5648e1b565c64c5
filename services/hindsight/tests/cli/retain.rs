//! Keeping what users said, one by one and from a file.

use std::{io::Write as _, process::Stdio};

use serde_json::Value;

use crate::support::Home;

fn contents(home: &Home, user: &str, query: &str) -> Vec<String> {
    let response = home.json(&["recall", "--user", user, "--kind", "fact", query]);
    let items = response["items"].as_array().unwrap().clone();
    items.iter().map(|i| i["memory"]["fact"]["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_fact_is_kept_with_what_describes_it_or_the_answer_says_why_not() {
    let home = Home::new();
    let server = home.serve(&[]);
    let thanks = home.run(&["retain", "--user", "mei", "谢谢！"]);
    assert_eq!((thanks.code(), thanks.stdout().starts_with("not kept: it says thanks")), (0, true));
    assert!(home.run(&["retain", "--user", "mei", "谢谢！", "--force"]).stdout().starts_with("kept as "));

    let photo = "https://example.com/receipt.png=the receipt of the coffee grinder";
    home.json(&[
        "retain",
        "--user",
        "mei",
        "--key",
        "grinder",
        "--speaker",
        "Mei",
        "--session",
        "s-1",
        "--intent",
        "return",
        "--type",
        "order",
        "--resolved",
        "--expires",
        "2199-01-01T00:00:00Z",
        "--attachment",
        photo,
        "It came broken and was replaced",
    ]);
    assert_eq!(
        contents(&home, "mei", "the receipt of the coffee grinder"),
        ["It came broken and was replaced"]
    );
    let listed = home.json(&["memories", "--kind", "fact", "--user", "mei"]);
    let facts = listed["memories"].as_array().unwrap();
    let fact = facts.iter().map(|m| &m["fact"]).find(|f| f["key"] == "grinder").unwrap();
    assert_eq!(
        (fact["type"].as_str(), fact["status"].as_str()),
        (Some("FACT_TYPE_ORDER"), Some("FACT_STATUS_RESOLVED"))
    );
    assert_eq!((fact["speaker"].as_str(), fact["intent"].as_str()), (Some("Mei"), Some("return")));
    let shown = home.run(&["memories", "--kind", "fact", "--user", "mei"]).stdout();
    assert!(shown.contains("order · resolved · https://example.com/receipt.png (the receipt"), "{shown}");

    let bad = home.run(&["retain", "--user", "mei", "x", "--attachment", "data:image/png;base64,AAAA"]);
    assert_eq!((bad.code(), bad.stderr().contains("attachments[0].uri")), (65, true), "{}", bad.stderr());
    drop(server);
}

#[test]
fn a_file_of_turns_is_kept_line_by_line() {
    let home = Home::new();
    let server = home.serve(&[]);
    let lines = [
        r#"{"speaker":"Mei","content":"Where shall we meet?","occurred_at":"2023-05-08T13:56:00Z"}"#,
        r#"{"speaker":"Tom","content":"At the bakery near the station","occurred_at":"2023-05-08T13:57:00Z"}"#,
        r#"{"speaker":"Mei","content":"Thanks!","occurred_at":"2023-05-08T13:58:00Z"}"#,
        "not json",
        "",
        r#"{"content":"我对花生过敏","user":"li"}"#,
        r#"{"content":" "}"#,
    ];
    let file = home.file("turns.jsonl", &lines.join("\n"));
    let path = file.to_str().unwrap();
    let told = home.run(&["retain", "--file", path, "--user", "mei", "--session", "s-1"]);
    assert_eq!(told.code(), 65, "{}", told.stderr());
    for line in
        ["line 3: not kept", "line 4: refused", "line 7: refused", "3 kept", "1 not worth keeping; 2 refused"]
    {
        assert!(told.stdout().contains(line), "{line}: {}", told.stdout());
    }
    assert_eq!(contents(&home, "li", "花生 过敏"), ["我对花生过敏"]);
    // Found by what stands beside it, and by its day in either language.
    for query in ["where shall we meet", "bakery in May 2023", "2023年5月8日 bakery"] {
        assert!(
            contents(&home, "mei", query).contains(&"At the bakery near the station".to_owned()),
            "{query}"
        );
    }

    let mut child = home.command(&["--json", "retain", "--user", "mei", "--file", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines[0].as_bytes()).unwrap();
    let answer: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answer["results"][0]["retained"], true, "{answer}");
    drop(server);
}

#[test]
fn a_text_is_read_from_standard_input_without_a_server() {
    let home = Home::new();
    let mut child = home.command(&["retain", "--user", "mei", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("我坐火车喜欢靠窗的座位\n".as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(contents(&home, "mei", "坐火车 喜欢 靠窗"), ["我坐火车喜欢靠窗的座位"]);
    assert_eq!(home.run(&["retain", "--user", "mei"]).code(), 64);
    assert_eq!(home.run(&["retain", "--user", "mei", "--file", "nowhere.jsonl"]).code(), 66);
}
