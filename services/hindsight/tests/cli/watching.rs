//! `import --watch`: files that grow are handed over as they grow, whatever happens in between.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::support::{Home, until};

/// A session of Claude Code: the user's words, then calls with their results.
fn entries(session: &str, calls: usize) -> Vec<String> {
    let entry = |kind: &str, i: usize, message: Value| {
        json!({"type": kind, "sessionId": session, "uuid": format!("{session}-{kind}-{i}"),
            "timestamp": format!("2026-05-04T08:{:02}:{:02}Z", i / 60, i % 60), "message": message})
        .to_string()
            + "\n"
    };
    let mut lines = vec![entry(
        "user",
        0,
        json!({"role": "user", "content": format!("Fix the build of {session}; 修好它")}),
    )];
    for i in 1..=calls {
        let call = json!({"type": "tool_use", "id": format!("c{i}"), "name": "Bash", "input": {"command": format!("make {i}")}});
        lines.push(entry(
            "assistant",
            i,
            json!({"id": format!("m{i}"), "role": "assistant", "content": [call]}),
        ));
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{i}"), "is_error": i % 2 == 1, "content": format!("made {i}")});
        lines.push(entry("user", i, json!({"role": "user", "content": [result]})));
    }
    lines
}

fn farewell(session: &str) -> String {
    json!({"type": "user", "sessionId": session, "uuid": format!("{session}-bye"),
        "message": {"role": "user", "content": "<command-name>/exit</command-name>"}})
    .to_string()
        + "\n"
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// As if nothing had been added for this long.
fn age(path: &Path, by: Duration) {
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - by).unwrap();
}

struct Watcher {
    child: Child,
    out: PathBuf,
}

impl Watcher {
    fn start(home: &Home, folder: &Path, more: &[&str]) -> Self {
        let out = home.path().join(format!("out-{}", fs::read_dir(home.path()).unwrap().count()));
        let state = home.path().join("state.json");
        let args =
            ["--json", "import", "--watch", folder.to_str().unwrap(), "--state", state.to_str().unwrap()];
        let mut command = home.command(&[&args[..], more].concat());
        let child = command.stdout(File::create(&out).unwrap()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, out }
    }

    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.out).unwrap();
        text.split_inclusive('\n')
            .filter(|l| l.ends_with('\n'))
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }

    fn named(&self, name: &str) -> Vec<Value> {
        self.events().into_iter().filter(|e| e["event"] == name).collect()
    }

    /// Steps of a run that are with the server.
    fn steps(&self, run: &str) -> u64 {
        let of = |e: &Value| (e["trace_id"] == run).then(|| e["to"].as_u64().unwrap());
        self.named("steps").iter().filter_map(of).max().unwrap_or(0)
    }

    fn ended(&self, run: &str) -> Option<(u64, String)> {
        let ended = self.named("ended").into_iter().rfind(|e| e["trace_id"] == run)?;
        Some((ended["steps"].as_u64()?, ended["why"].as_str()?.to_owned()))
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Asks it to stop; it must end well.
    fn stop(mut self) {
        self.signal("-INT");
        let mut status = None;
        until("the watcher stops", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(0), "{:?}", self.events());
        assert_eq!(self.named("stopped").len(), 1);
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The raw events of the store.
fn stored(home: &Home) -> u64 {
    home.json(&["stats"])["events"].as_u64().unwrap_or(0)
}

/// The steps of a run, once it is judged.
fn steps_of(home: &Home, run: &str) -> Option<usize> {
    let shown = home.run(&["--json", "show", run]);
    let shown = (shown.code() == 0).then(|| shown.json())?;
    shown.get("evaluation").filter(|e| e.is_object())?;
    shown.pointer("/trajectory/steps")?.as_array().map(Vec::len)
}

#[test]
fn a_session_is_collected_while_it_runs_and_judged_when_it_ends() {
    let home = Home::new();
    let server = home.serve(&[]);
    let folder = home.path().join("projects/app");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("s1.jsonl");
    let watcher = Watcher::start(&home, &home.path().join("projects"), &[]);
    until("it watches", || !watcher.named("watching").is_empty());

    let lines = entries("s1", 6);
    // Byte by byte, and looked at in the middle of a line.
    for byte in lines[..3].concat().as_bytes() {
        File::options().create(true).append(true).open(&file).unwrap().write_all(&[*byte]).unwrap();
    }
    let (half, rest) = lines[3].split_at(40);
    append(&file, half);
    until("the first step is there", || watcher.steps("s1") == 1);
    assert_eq!(watcher.ended("s1"), None);
    append(&file, &format!("{rest}{}", lines[4..].concat()));
    until("all steps are there", || watcher.steps("s1") == 6);
    until("they are collected though the run goes on", || stored(&home) == 7);
    append(&file, &farewell("s1"));
    until("the file says that it is over", || watcher.ended("s1") == Some((6, "said".to_owned())));
    until("it is judged", || steps_of(&home, "s1") == Some(6));
    assert_eq!(stored(&home), 8, "a start, six steps and an end");
    assert!(watcher.named("broken").is_empty(), "{:?}", watcher.events());
    watcher.stop();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn killed_in_the_middle_it_goes_on_and_nothing_is_there_twice() {
    let home = Home::new();
    let server = home.serve(&[]);
    let folder = home.path().join("logs");
    fs::create_dir_all(&folder).unwrap();
    let (one, two) = (entries("k1", 8), entries("k2", 8));
    let (first, second) = (folder.join("k1.jsonl"), folder.join("k2.jsonl"));
    let watcher = Watcher::start(&home, &folder, &[]);
    for i in 0..8 {
        append(&first, &one[i]);
        append(&second, &two[i]);
    }
    until("some steps of both are there", || watcher.steps("k1") == 3 && watcher.steps("k2") == 3);
    append(&first, &one[8..12].concat());
    watcher.kill();
    append(&first, &one[12..].concat());
    append(&second, &two[8..].concat());

    let watcher = Watcher::start(&home, &folder, &[]);
    until("the rest is there", || watcher.steps("k1") == 8 && watcher.steps("k2") == 8);
    until("all of it is stored", || stored(&home) == 18);
    for file in [&first, &second] {
        age(file, Duration::from_secs(3600));
    }
    until("both end of idleness", || {
        ["k1", "k2"].iter().all(|run| watcher.ended(run) == Some((8, "idle".to_owned())))
    });
    until("both are judged", || ["k1", "k2"].iter().all(|run| steps_of(&home, run) == Some(8)));
    assert_eq!(stored(&home), 20, "nothing is there twice");
    watcher.stop();

    // Nothing is new, so nothing is sent; and a session that is taken up again grows.
    let watcher = Watcher::start(&home, &folder, &[]);
    until("it watches", || !watcher.named("watching").is_empty());
    append(&second, &entries("k2", 9)[17..].concat());
    until("the new step is there", || watcher.steps("k2") == 9);
    assert_eq!(watcher.named("steps").len(), 1, "{:?}", watcher.events());
    append(&second, &farewell("k2"));
    until("it ends again", || watcher.ended("k2") == Some((9, "said".to_owned())));
    until("it is judged again", || steps_of(&home, "k2") == Some(9));
    watcher.stop();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn files_that_are_cut_replaced_renamed_and_deleted() {
    let home = Home::new();
    let server = home.serve(&[]);
    let folder = home.path().join("logs");
    fs::create_dir_all(&folder).unwrap();
    let watcher = Watcher::start(&home, &folder, &[]);
    let write = |name: &str, session: &str| {
        append(&folder.join(name), &entries(session, 2).concat());
        until("its steps are there", || watcher.steps(session) == 2);
    };
    // Cut off and begun anew in place.
    write("a.jsonl", "cut-1");
    fs::write(folder.join("a.jsonl"), entries("cut-2", 1).concat()).unwrap();
    until("the new session is there", || watcher.steps("cut-2") == 1);
    assert_eq!(watcher.ended("cut-1"), Some((2, "replaced".to_owned())));
    // Rotated: what is written last under the old name is not lost.
    write("b.jsonl", "rotated-1");
    append(&folder.join("b.jsonl"), &entries("rotated-1", 3)[5..].concat());
    fs::rename(folder.join("b.jsonl"), folder.join("b.jsonl.1")).unwrap();
    append(&folder.join("b.jsonl"), &entries("rotated-2", 1).concat());
    until("the new session is there", || watcher.steps("rotated-2") == 1);
    // Whether the new file was there already when the old one was missed, is chance.
    until("the old session is over", || watcher.ended("rotated-1").is_some_and(|(steps, _)| steps == 3));
    // Under another name it is the same file.
    write("c.jsonl", "moved");
    fs::rename(folder.join("c.jsonl"), folder.join("d.jsonl")).unwrap();
    append(&folder.join("d.jsonl"), &entries("moved", 3)[5..].concat());
    until("it goes on", || watcher.steps("moved") == 3);
    assert_eq!(watcher.ended("moved"), None);
    fs::remove_file(folder.join("d.jsonl")).unwrap();
    until("it is over when it is deleted", || watcher.ended("moved") == Some((3, "deleted".to_owned())));
    // What is no session is said once, with its place.
    append(&folder.join("a.jsonl"), "nonsense\n");
    until("the broken line is named", || watcher.named("broken").len() == 1);
    let broken = watcher.named("broken").remove(0);
    assert_eq!(broken["line"], 4);
    assert!(broken["path"].as_str().unwrap().ends_with("a.jsonl"), "{broken}");
    watcher.stop();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn while_the_server_is_away_it_waits_and_loses_nothing() {
    let home = Home::new();
    let server = home.serve(&[]);
    let address = server.address();
    let folder = home.path().join("logs");
    fs::create_dir_all(&folder).unwrap();
    let watcher = Watcher::start(&home, &folder, &["--server", &address]);
    let lines = entries("w", 4);
    append(&folder.join("w.jsonl"), &lines[..3].concat());
    until("the first step is there", || watcher.steps("w") == 1);
    server.kill();
    append(&folder.join("w.jsonl"), &lines[3..].concat());
    until("it says that it waits", || !watcher.named("waiting").is_empty());
    let listen = address.trim_start_matches("http://");
    let server = home.serve_at(listen, &[]);
    until("the rest is there", || watcher.steps("w") == 4);
    assert_eq!(watcher.named("back").len(), 1);
    until("all of it is stored", || stored(&home) == 5);
    watcher.stop();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn without_a_server_it_keeps_the_data_directory_itself() {
    let home = Home::new();
    let folder = home.path().join("logs");
    fs::create_dir_all(&folder).unwrap();
    append(&folder.join("e.jsonl"), &entries("e", 5).concat());
    append(&folder.join("e.jsonl"), &farewell("e"));
    let document = json!({"schema_version": "ATIF-v1.8", "session_id": "doc", "agent": {"name": "x", "version": "1"}, "steps": [
        {"step_id": 1, "source": "user", "message": "Say hello."}, {"step_id": 2, "source": "agent", "message": "Hello."}]});
    fs::write(folder.join("doc.json"), serde_json::to_string_pretty(&document).unwrap()).unwrap();
    age(&folder.join("doc.json"), Duration::from_secs(3600));
    let watcher = Watcher::start(&home, &folder, &["--idle", "10m"]);
    until("both are over", || watcher.ended("e").is_some() && watcher.ended("doc").is_some());
    assert_eq!(watcher.ended("doc"), Some((1, "idle".to_owned())));
    watcher.stop();
    until("the session is judged", || steps_of(&home, "e") == Some(5));
}

#[test]
fn mistakes_are_named() {
    let home = Home::new();
    let missing = home.run(&["import", "--watch", "no-such-folder"]);
    assert_eq!(missing.code(), 66, "{}", missing.stderr());
    assert_eq!(home.run(&["import", "--watch", ".", "a.jsonl"]).code(), 64);
    assert_eq!(home.run(&["import"]).code(), 64);
    assert_eq!(home.run(&["import", "--watch", ".", "--idle", "soon"]).code(), 64);
    let state = home.file("state.json", "{");
    let broken = home.run(&["import", "--watch", ".", "--state", state.to_str().unwrap()]);
    assert_eq!(broken.code(), 74, "{}", broken.stderr());
    assert!(broken.stderr().contains("delete it to begin anew"), "{}", broken.stderr());
}
