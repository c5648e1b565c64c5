//! The binaries of the roles, with a broker and a store that nobody serves.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(120);

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Status and body of a GET; `None` while nobody listens.
fn get(port: u16, path: &str) -> Option<(u16, String)> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nhost: probe\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(binary: &str, env: &[(&str, String)]) -> Process {
    let mut command = Command::new(binary);
    let inherited = std::env::vars().map(|(k, _)| k).filter(|k| k.starts_with("HINDSIGHT"));
    inherited.for_each(|k| {
        command.env_remove(k);
    });
    command.envs(env.iter().map(|(k, v)| (k, v))).stdin(Stdio::null()).stdout(Stdio::null());
    Process(command.stderr(Stdio::null()).spawn().unwrap())
}

/// Only the recall role needs it.
fn absent_reranker() -> [(&'static str, String); 2] {
    [
        ("HINDSIGHT__RECALL__RERANKER__KIND", "directory".to_owned()),
        ("HINDSIGHT__RECALL__RERANKER__PATH", "/nowhere/model".to_owned()),
    ]
}

fn away(role: &str, binary: &str) {
    let admin = free_port();
    let mut env = vec![
        ("HINDSIGHT__SERVER__LISTEN", "127.0.0.1:0".to_owned()),
        ("HINDSIGHT__SERVER__ADMIN_LISTEN", format!("127.0.0.1:{admin}")),
        ("HINDSIGHT__BUS__KIND", "amqp".to_owned()),
        ("HINDSIGHT__BUS__URL", format!("amqp://127.0.0.1:{}", free_port())),
        ("HINDSIGHT__STORE__KIND", "qdrant".to_owned()),
        ("HINDSIGHT__STORE__URL", format!("http://127.0.0.1:{}", free_port())),
    ];
    if role != "recall" {
        env.extend(absent_reranker());
    }
    let mut process = start(binary, &env);
    until("it has started", || get(admin, "/startupz").filter(|(status, _)| *status == 200));
    let (status, body) = get(admin, "/readyz").unwrap();
    assert!(status == 503 && body.contains(&format!("\"role\":\"{role}\"")), "{status} {body}");
    assert!(body.contains("\"reason\""), "{body}");
    assert_eq!(get(admin, "/livez").unwrap().0, 200);

    let terminate = format!("kill -TERM {}", process.0.id());
    assert!(Command::new("sh").args(["-c", &terminate]).status().unwrap().success());
    let exit = until("it ends", || process.0.try_wait().unwrap());
    assert_eq!(exit.code(), Some(0));
}

#[test]
fn a_collector_waits_for_the_others() {
    away("collector", env!("CARGO_BIN_EXE_hindsight-collector"));
}

#[test]
fn an_evaluator_waits_for_the_others() {
    away("evaluator", env!("CARGO_BIN_EXE_hindsight-evaluator"));
}

#[test]
fn a_compactor_waits_for_the_others() {
    away("compactor", env!("CARGO_BIN_EXE_hindsight-compactor"));
}

#[test]
fn a_recall_waits_for_the_others() {
    away("recall", env!("CARGO_BIN_EXE_hindsight-recall"));
}

#[test]
fn mistakes_end_it_at_once() {
    let mut process =
        start(env!("CARGO_BIN_EXE_hindsight-recall"), &[("HINDSIGHT__BUS__KIND", "amqp".to_owned())]);
    let exit = until("it ends", || process.0.try_wait().unwrap());
    assert_eq!(exit.code(), Some(78), "a broker without an address is a mistake of configuration");
}

#[test]
fn a_recall_without_its_reranker_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut env = vec![
        ("HINDSIGHT__SERVER__LISTEN", "127.0.0.1:0".to_owned()),
        ("HINDSIGHT__DATA__DIR", dir.path().display().to_string()),
    ];
    env.extend(absent_reranker());
    let mut process = start(env!("CARGO_BIN_EXE_hindsight-recall"), &env);
    let exit = until("it ends", || process.0.try_wait().unwrap());
    assert_eq!(exit.code(), Some(78));
}
