//! The proxy before an MCP server that is a program, and what both refuse.

use std::{
    io::{Read as _, Write as _},
    process::{Output, Stdio},
};

use crate::support::{Home, Ran};

/// The proxy before `cat`, which is told a line.
fn between(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = home.command(&["mcp-proxy"]);
    command.args(arguments).envs(variables.iter().copied()).args(["--", "cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{{}}").unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_mistake_in_the_settings_takes_no_tool_away() {
    let home = Home::new();
    let broken = home.file("broken.toml", "[watch]\nmin_times = \"x\"\n");
    let broken = broken.to_str().unwrap();
    for (arguments, word) in [
        (&["--config", broken][..], "min_times"),
        (&["--config", "/no/such/file.toml"], "/no/such/file.toml"),
        (&["--config", broken, "--server", "http://127.0.0.1:9"], "without these settings"),
        (&["--config", broken, "--mode", "confirm"], "without memory"),
    ] {
        let ended = between(&home, arguments, &[]);
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), ended.stdout), (Some(0), b"{}\n".to_vec()), "{arguments:?}: {told}");
        assert!(told.contains(word), "{arguments:?}: {told}");
    }
    let ended = between(&home, &[], &[("HINDSIGHT__WATCH__MIN_TIMES", "x")]);
    assert_eq!((ended.status.code(), ended.stdout), (Some(0), b"{}\n".to_vec()));
    assert!(!home.data().exists(), "no directory is opened that was perhaps not meant");
}

#[test]
fn an_empty_variable_is_none() {
    let home = Home::new();
    let names =
        ["HINDSIGHT_DATA_DIR", "HINDSIGHT_CONFIG", "HINDSIGHT_SERVER", "HINDSIGHT_API_KEY", "HINDSIGHT_GOAL"];
    let empty = names.map(|name| (name, ""));
    let mut printed = home.command(&["config", "print", "--json"]);
    let printed = Ran(printed.envs(empty).output().unwrap());
    assert_eq!(printed.code(), 0, "{}", printed.stderr());
    assert!(printed.json()["data"]["dir"].as_str().unwrap().ends_with("hindsight"), "{}", printed.stdout());
    let ended = between(&home, &["--server", "http://127.0.0.1:9"], &empty);
    assert_eq!((ended.status.code(), ended.stdout), (Some(0), b"{}\n".to_vec()));
}

#[test]
fn a_server_that_has_nothing_more_to_say_is_over_for_the_client() {
    let home = Home::new();
    let script = "exec >&-; cat >/dev/null; exit 5";
    let mut command =
        home.command(&["mcp-proxy", "--server", "http://127.0.0.1:9", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The server lives until it is told to end, which it is only after this.
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((said.as_str(), child.try_wait().unwrap()), ("", None));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let home = Home::new();
    let proxy = |arguments: &[&str]| home.run(&[&["mcp-proxy"], arguments].concat());
    let url = ["--url", "http://127.0.0.1:9/mcp"];
    let refused = |ran: Ran, word: &str| {
        assert!(ran.code() == 64 && ran.stderr().contains(word), "{}: {}", ran.code(), ran.stderr());
    };
    refused(proxy(&[&url[..], &["--listen", "0.0.0.0:0"]].concat()), "--allow-remote");
    refused(proxy(&["--listen", "127.0.0.1:0", "--", "cat"]), "--listen <IP:PORT>");
    refused(proxy(&["--allow-remote", "--", "cat"]), "--allow-remote");
    refused(proxy(&["--idle", "abc", "--", "cat"]), "write it like 10m");
    refused(
        home.run(&["mcp", "--http", "127.0.0.1:0", "--allow-origin", "foo"]),
        "https://app.example.com:443",
    );
}

#[test]
fn json_is_said_to_change_nothing() {
    let home = Home::new();
    let ended = between(&home, &["--json", "--server", "http://127.0.0.1:9"], &[]);
    assert_eq!(ended.stdout, b"{}\n");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("--json changes nothing here"));
}
