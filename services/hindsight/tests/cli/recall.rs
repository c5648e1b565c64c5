//! A recall from the question to what became of its answer.

use crate::support::Home;

const QUESTION: &str = "where is the spare key?";

#[test]
fn a_recall_is_explained_and_reported_on() {
    let home = Home::new();
    let server = home.serve(&[]);
    let said = "the spare key is under the blue flower pot";
    let kept = home.json(&["retain", "--user", "anna", said]);
    let kept = kept["memory_id"].as_str().unwrap();
    let of_anna = ["--user", "anna", "--time-zone", "Europe/Paris"];
    let asked = home.json(&[&["recall", QUESTION][..], &of_anna].concat());
    let receipt = asked["receipt_id"].as_str().unwrap();
    assert!(asked["block"].as_str().unwrap().contains(said), "{asked}");
    let json =
        home.run(&[&["recall", QUESTION, "--format", "json", "--language", "zh"][..], &of_anna].concat());
    assert!(json.stdout().starts_with('{') && json.stdout().contains(said), "{}", json.stdout());

    let report = ["feedback", receipt, "--user", "anna", "--helpful", kept, "--trace", "visit-1"];
    let told = home.json(&report);
    assert_eq!(told["feedback"][0]["verdict"], "FEEDBACK_VERDICT_HELPFUL", "{told}");
    assert_eq!(told["evidence"], 1);

    let text = home.run(&["explain", receipt, "--user", "anna", "--expect", kept]).stdout();
    for part in ["funnel", "read", "given", "helpful", "in visit-1", "similarity", "expected", "came"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("remedy") && !text.contains('\x1b'), "{text}");
    let stranger = "0190a5e4-0000-7000-8000-000000000000";
    let text = home.run(&["explain", receipt, "--user", "anna", "--expect", stranger]).stdout();
    assert!(text.contains("did not come") && text.contains("remedy"), "{text}");

    let refused = home.run(&["feedback", receipt, "--user", "anna", "--harmful", stranger]);
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr().contains("items[0].memory_id"), "{}", refused.stderr());
    let nothing = home.run(&["feedback", receipt]);
    assert!(nothing.code() != 0 && nothing.stderr().contains("--helpful"), "{}", nothing.stderr());
    drop(server);
}
