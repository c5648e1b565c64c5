//! The command as a process: serving, stopping, keys, exit codes.

use crate::support::{Home, examples, until};

#[test]
fn a_server_stops_in_order_and_goes_on_after_a_restart() {
    let home = Home::new();
    let server = home.serve(&[]);
    let address = server.address();
    assert_eq!(home.json(&["stats"])["events"], 0, "the data directory leads to the server");
    assert_eq!(home.json(&["--server", &address, "stats"])["events"], 0);

    let report = home.json(&["import", "--no-wait", examples().join("disk.jsonl").to_str().unwrap()]);
    assert_eq!((report["submitted"].as_u64(), report["verdicts"].is_null()), (Some(3), true));
    assert_eq!(server.terminate(), Some(0));
    assert!(!home.data().join("serve.json").exists());

    let server = home.serve(&[]);
    until("what was taken in before is judged", || home.json(&["stats"])["experiences"] == 3);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn nothing_acknowledged_is_lost_when_a_server_is_killed() {
    let home = Home::new();
    let server = home.serve(&[]);
    let report = home.json(&["import", "--no-wait", examples().join("billing.jsonl").to_str().unwrap()]);
    assert_eq!(report["submitted"], 3);
    home.json(&["retain", "--user", "mei", "发票抬头用公司名称"]);
    server.kill();
    assert!(home.data().join("serve.json").exists(), "a killed server cannot clean up");

    // Without a server the command opens the directory itself, whatever the file says.
    home.json(&["stats"]);
    let server = home.serve(&[]);
    until("every run is judged", || home.json(&["stats"])["experiences"] == 3);
    // Found before the kill, but perhaps not settled: then it comes again from the bus.
    until("the fact is there", || home.json(&["stats", "--user", "mei"])["facts"] == 1);
    drop(server);
}

#[test]
fn a_directory_is_served_once() {
    let home = Home::new();
    let server = home.serve(&[]);
    let second = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code(), 69);
    assert!(second.stderr().contains(&server.address()), "{}", second.stderr());
    let other = Home::new();
    let address = server.address();
    let port = other.run(&["serve", "--listen", address.trim_start_matches("http://")]);
    assert_eq!(port.code(), 69);
    assert!(port.stderr().contains("--listen"), "{}", port.stderr());
}

#[test]
fn keys_decide_who_may_do_what() {
    let home = Home::new();
    let mut config = String::new();
    let mut keys = Vec::new();
    for (name, permissions) in [("all", r#"["read", "write", "admin"]"#), ("reader", r#"["read"]"#)] {
        let made = home.json(&["key", "new", "--name", name]);
        let hash = made["hash"].as_str().unwrap();
        config.push_str(&format!(
            "[[auth.keys]]\nname = \"{name}\"\nhash = \"{hash}\"\ntenant = \"acme\"\npermissions = {permissions}\n"
        ));
        keys.push(made["key"].as_str().unwrap().to_owned());
    }
    let file = home.file("hindsight.toml", &config);
    let file = file.to_str().unwrap();
    assert_eq!(home.run(&["config", "check", "--config", file]).code(), 0);
    let printed = home.run(&["config", "print", "--config", file]).stdout();
    assert!(printed.contains("(hidden)") && printed.contains("acme"), "{printed}");

    let server = home.serve(&["--config", file]);
    assert_eq!(home.run(&["stats"]).code(), 77);
    home.json(&["--api-key", &keys[0], "retain", "--user", "tom", "window seat"]);
    assert_eq!(home.json(&["--api-key", &keys[1], "stats", "--user", "tom"])["facts"], 1);
    let refused = home.run(&["--api-key", &keys[1], "retain", "--user", "tom", "aisle seat"]);
    assert_eq!(refused.code(), 77);
    assert!(refused.stderr().contains("write"), "{}", refused.stderr());
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn mistakes_have_their_own_exit_codes() {
    let home = Home::new();
    assert_eq!(home.run(&["remember"]).code(), 64);
    assert_eq!(home.run(&["key", "new", "--tenant", ""]).code(), 64);
    assert_eq!(home.run(&["import", "no-such-file.jsonl"]).code(), 66);
    assert_eq!(home.run(&["--server", "localhost:1", "stats"]).code(), 64);
    let file = home.file("wrong.toml", "[server]\nlisten = \"nowhere\"\n[recal]\nfloor = 0.5\n");
    let checked = home.run(&["--json", "config", "check", "--config", file.to_str().unwrap()]);
    assert_eq!(checked.code(), 78);
    assert_eq!(checked.json()["mistakes"].as_array().unwrap().len(), 2, "{}", checked.stdout());
    assert_eq!(home.run(&["--config", file.to_str().unwrap(), "stats"]).code(), 78);
    for flag in [["--idle", "5m"], ["--state", "far.json"]] {
        let idle = home.run(&["import", file.to_str().unwrap(), flag[0], flag[1]]);
        assert_eq!(idle.code(), 64, "{}", idle.stderr());
        assert!(idle.stderr().contains(flag[0]) && idle.stderr().contains("--watch"), "{}", idle.stderr());
    }
    let empty = home.run(&["recall", " "]);
    assert_eq!(empty.code(), 65);
    assert!(empty.stderr().contains("query"), "{}", empty.stderr());
    let help = home.run(&["--help"]);
    assert_eq!(help.code(), 0);
    assert!(help.stdout().contains("recall"));
}

#[test]
fn a_server_that_is_away_is_said_so() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ran = home.run(&["--server", &address, "stats"]);
    assert_eq!(ran.code(), 69, "{}", ran.stderr());
}

#[test]
fn a_run_that_is_not_judged_says_what_it_lacks_and_what_to_do() {
    let home = Home::new();
    let run = r#"{"trace_id": "short", "task_description": "Say hello", "outcome": {"status": "SUCCESS"}, "steps": [
        {"action_type": "TOOL_CALL", "action_name": "greet", "observation": "hello", "status": "OK"}]}"#;
    let file = home.file("short.jsonl", &run.replace('\n', ""));
    let imported = home.run(&["import", file.to_str().unwrap()]).stdout();
    for part in ["1 skipped by the gate", "[gate]", "min_tool_calls", "failures --replay"] {
        assert!(imported.contains(part), "{part}: {imported}");
    }
    let looked = home.run(&["doctor", "short"]).stdout();
    assert!(looked.contains("it made 1 tool call in 0 s, and the task did not fail"), "{looked}");
}
