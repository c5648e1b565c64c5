//! Everything out of one data directory and into another, and back after a break.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;

use crate::support::{Home, examples, recalled, until};

const TASK: &str = "the test environment is down: a container keeps restarting";

fn filled() -> Home {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", examples().to_str().unwrap()]);
    home.json(&["retain", "--user", "mei", "我对花生过敏，订餐时请避开"]);
    home.json(&["recall", TASK]);
    assert_eq!(server.terminate(), Some(0));
    home
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(report: &Value, kind: &str) -> u64 {
    report["counts"][kind].as_u64().unwrap_or_default()
}

#[test]
fn a_tenant_moves_to_another_data_directory() {
    let home = filled();
    let file = home.path().join("all.jsonl");
    let name = file.to_str().unwrap();
    let told = home.json(&["export", name]);
    assert_eq!(
        (kinds(&told, "experience"), kinds(&told, "fact"), told["unreadable"].as_u64()),
        (18, 1, Some(0))
    );
    let written = lines(&file);
    assert_eq!(written[0]["header"]["tenant"], "default");
    assert_eq!(written.last().unwrap()["end"]["records"], told["records"]);
    assert_eq!(home.run(&["export", name]).code(), 64, "nothing is overwritten");
    let again = home.json(&["export", "--resume", name]);
    assert_eq!(again, told, "it is finished");
    let piped = home.run(&["export", "-"]);
    assert_eq!(piped.code(), 0, "{}", piped.stderr());
    assert_eq!(piped.stdout().lines().count() as u64, told["records"].as_u64().unwrap() + 2);

    let other = Home::new();
    let taken = other.json(&["import-memories", name]);
    assert_eq!(
        (taken["written"].as_u64(), taken["refused"].as_u64()),
        (told["records"].as_u64(), Some(0)),
        "{taken}"
    );
    assert_eq!(other.json(&["stats"]), home.json(&["stats"]));
    assert_eq!(recalled(&other.json(&["recall", TASK]))[0], recalled(&home.json(&["recall", TASK]))[0]);
    let twice = other.json(&["import-memories", name]);
    assert!(twice["present"].as_u64().unwrap() > 0 && twice["refused"] == 0, "{twice}");
    assert_eq!(other.json(&["stats"]), home.json(&["stats"]));
    let mut beside: Vec<_> = fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().path()).collect();
    beside.sort();
    assert_eq!(beside, [file, home.data(), home.log()], "nothing is left beside the file");
}

#[test]
fn a_changed_byte_is_named_by_its_line_and_nothing_is_taken_in() {
    let home = filled();
    let file = home.path().join("all.jsonl");
    let name = file.to_str().unwrap();
    home.json(&["export", name]);
    let text = fs::read_to_string(&file).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("花生")).unwrap();
    fs::write(&file, text.replace("花生", "花茶")).unwrap();
    let other = Home::new();
    let refused = other.run(&["import-memories", name]);
    assert_eq!(refused.code(), 65);
    assert!(refused.stderr().contains(&format!("all.jsonl:{line}: ")), "{}", refused.stderr());
    assert!(!other.data().exists(), "the file is checked first");

    let half: String = text.split_inclusive('\n').take(5).collect();
    fs::write(&file, half).unwrap();
    let refused = other.run(&["import-memories", name]);
    assert!(refused.code() == 65 && refused.stderr().contains("--resume"), "{}", refused.stderr());
    // What is there stands; the rest is written again.
    let told = home.json(&["export", "--resume", name]);
    assert_eq!(other.json(&["import-memories", name])["written"], told["records"]);
}

/// Lines whose records repeat often enough for checkpoints.
fn large() -> (Home, PathBuf) {
    let home = Home::new();
    let facts: String =
        (0..2_500).map(|n| format!("{{\"content\":\"statement {n} of Mei\",\"key\":\"{n}\"}}\n")).collect();
    let facts = home.file("facts.jsonl", &facts);
    let server = home.serve(&[]);
    let retained = home.run(&["retain", "--force", "--user", "mei", "--file", facts.to_str().unwrap()]);
    assert_eq!(retained.code(), 0, "{}", retained.stderr());
    drop(server);
    let file = home.path().join("all.jsonl");
    (home, file)
}

#[test]
fn what_a_kill_breaks_off_goes_on() {
    let (home, file) = large();
    let name = file.to_str().unwrap();
    let checkpoints = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("{\"checkpoint\"")).count()
    };
    let mut child =
        home.command(&["export", name]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("a checkpoint is written", || checkpoints(&file) > 0 || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    // However much was left: a torn line, too.
    let mut torn = fs::read(&file).unwrap();
    torn.truncate(torn.len() - 40);
    fs::write(&file, &torn).unwrap();
    let before = checkpoints(&file);
    assert!(before > 0, "nothing to go on from");
    let told = home.json(&["export", "--resume", name]);
    let whole = home.path().join("whole.jsonl");
    let straight = home.json(&["export", whole.to_str().unwrap()]);
    assert_eq!(
        (told["records"].as_u64(), &told["counts"]),
        (straight["records"].as_u64(), &straight["counts"])
    );

    let other = Home::new();
    let server = other.serve(&[]);
    let progress = PathBuf::from(format!("{name}.progress"));
    let mut child = other
        .command(&["import-memories", name])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a checkpoint is taken in", || progress.exists() || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    let taken = other.json(&["import-memories", "--resume", name]);
    let sum = ["written", "present", "forgotten", "refused"].map(|n| taken[n].as_u64().unwrap());
    assert_eq!((sum.iter().sum::<u64>(), sum[3]), (told["records"].as_u64().unwrap(), 0), "{taken}");
    assert!(!progress.exists());
    let facts = other.json(&["memories", "--kind", "fact", "--user", "mei", "--limit", "5000"]);
    assert_eq!(facts["memories"].as_array().unwrap().len(), 2_500);
    drop(server);
}

#[test]
fn a_data_directory_is_copied_and_restored_whole() {
    let home = filled();
    let file = home.path().join("snapshot.tar.gz");
    let name = file.to_str().unwrap();
    let server = home.serve(&[]);
    let refused = home.run(&["snapshot", name]);
    assert!(refused.code() == 69 && refused.stderr().contains("in use by a server"), "{}", refused.stderr());
    assert_eq!(server.terminate(), Some(0));
    let told = home.json(&["snapshot", name]);
    let packed = fs::metadata(&file).unwrap().len();
    assert!(packed * 20 < told["bytes"].as_u64().unwrap(), "{packed} bytes: {told}");
    assert!(told["files"].as_u64().unwrap() > 10, "{told}");

    let other = Home::new();
    other.json(&["restore", name]);
    assert_eq!(other.json(&["stats"]), home.json(&["stats"]));
    assert_eq!(recalled(&other.json(&["recall", TASK]))[0], recalled(&home.json(&["recall", TASK]))[0]);
    let refused = other.run(&["restore", name]);
    assert!(refused.code() == 64 && refused.stderr().contains("is not empty"), "{}", refused.stderr());

    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let third = Home::new();
    let refused = third.run(&["restore", name]);
    assert!(refused.code() == 65 && !third.data().exists(), "{}", refused.stderr());
    assert_eq!(home.run(&["--server", "http://127.0.0.1:1", "snapshot", "x.tar.gz"]).code(), 64);
}
