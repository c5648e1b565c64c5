use std::{
    io::{PipeReader, PipeWriter, pipe},
    sync::mpsc,
};

use hindsight_proto::recall::v1::watch_request::Event;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    super::{
        Mode,
        testkit::{AMPLE, NEVER, Scripted, settings},
    },
    *,
};

/// A client and a server with the proxy between them, both in the hands of the test.
struct Between {
    runtime: Runtime,
    proxy: Option<Proxy>,
    notes: super::super::observe::Notes,
    drained: oneshot::Receiver<()>,
    client_out: Option<PipeWriter>,
    client_in: Option<PipeReader>,
    server_in: Option<PipeReader>,
    server_out: Option<PipeWriter>,
}

impl Between {
    fn new(settings: Settings, memory: Memory) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (client_read, client_out) = pipe().unwrap();
        let (server_in, server_write) = pipe().unwrap();
        let (server_read, server_out) = pipe().unwrap();
        let (client_in, client_write) = pipe().unwrap();
        let inside = runtime.enter();
        let mut proxy = Proxy::new(settings, memory);
        let connection = proxy.connect("server.py");
        let notes = connection.notes.clone();
        let drained = join(connection, (client_read, server_write), (server_read, client_write)).unwrap();
        drop(inside);
        Self {
            runtime,
            proxy: Some(proxy),
            notes,
            drained,
            client_out: Some(client_out),
            client_in: Some(client_in),
            server_in: Some(server_in),
            server_out: Some(server_out),
        }
    }

    fn client_says(&mut self, line: &Value) {
        writeln!(self.client_out.as_mut().unwrap(), "{line}").unwrap();
    }

    fn server_says(&mut self, line: &str) {
        writeln!(self.server_out.as_mut().unwrap(), "{line}").unwrap();
    }

    fn server_hears(&mut self) -> String {
        read_line(self.server_in.as_mut().unwrap())
    }

    fn client_hears(&mut self) -> String {
        read_line(self.client_in.as_mut().unwrap())
    }

    /// Both sides hang up; what was recorded is durable then.
    fn hang_up(mut self) {
        drop((self.client_out.take(), self.server_out.take()));
        self.runtime.block_on(async {
            (&mut self.drained).await.unwrap();
            self.notes.close();
            self.proxy.take().unwrap().finish(AMPLE).await;
        });
    }
}

fn read_line(from: &mut PipeReader) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while from.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"city": "北京"}}})
}

fn result(id: u64, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0", "id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
    )
}

/// Writes what the pieces say, one write each, in a thread of its own, and hangs up.
fn say(mut to: PipeWriter, pieces: Vec<Vec<u8>>) {
    std::thread::spawn(move || pieces.iter().try_for_each(|piece| to.write_all(piece)));
}

fn hear(mut from: PipeReader) -> mpsc::Receiver<Vec<u8>> {
    let (sender, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        let _ = sender.send(all);
    });
    heard
}

/// Bytes that mean something here, and any others.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..200),
        2 => Just(b"\n".to_vec()),
        2 => Just(format!("{}\n", call(1, "weather")).into_bytes()),
        1 => Just(format!("{}\n", result(1, "sunny")).into_bytes()),
        1 => Just(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#.to_vec()),
        1 => Just(br#"{"id":1,"result":{"content":[{"type":"image","data":"AAAA"#.to_vec()),
        1 => (200_000..300_000usize).prop_map(|n| vec![b'x'; n]),
    ];
    proptest::collection::vec(piece, 0..12)
}

fn passes_unchanged(mode: Mode, memory: Memory, from_client: Vec<Vec<u8>>, from_server: Vec<Vec<u8>>) {
    let mut between = Between::new(settings(mode), memory);
    let heard_by_server = hear(between.server_in.take().unwrap());
    let heard_by_client = hear(between.client_in.take().unwrap());
    let (said_by_client, said_by_server) = (from_client.concat(), from_server.concat());
    say(between.client_out.take().unwrap(), from_client);
    say(between.server_out.take().unwrap(), from_server);
    assert!(
        heard_by_server.recv_timeout(AMPLE).unwrap() == said_by_client,
        "the server heard something else"
    );
    assert!(
        heard_by_client.recv_timeout(AMPLE).unwrap() == said_by_server,
        "the client heard something else"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_pass_unchanged_in_both_directions(from_client in pieces(), from_server in pieces()) {
        for mode in [Mode::Observe, Mode::Annotate, Mode::Confirm] {
            passes_unchanged(mode, Memory::later().1, from_client.clone(), from_server.clone());
        }
    }

    #[test]
    fn a_memory_that_has_nothing_to_say_changes_nothing(from_client in pieces(), from_server in pieces()) {
        let silent = Scripted::new(|_| None);
        passes_unchanged(Mode::Confirm, silent.memory(), from_client, from_server);
    }
}

#[test]
fn a_line_longer_than_is_held_passes() {
    let line = vec![b'y'; MESSAGE_BYTES + 3 * CHUNK];
    let pieces = vec![b"{\"jsonrpc\":\"2.0\"".to_vec(), line, b"}\n{}\n".to_vec()];
    passes_unchanged(Mode::Confirm, Memory::later().1, pieces.clone(), pieces);
}

#[test]
fn calls_and_their_results_are_recorded() {
    let hindsight = Scripted::new(|_| None);
    let mut between = Between::new(settings(Mode::Observe), hindsight.memory());
    let hello = json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "claude-code"}}});
    between.client_says(&hello);
    between.server_hears();
    between.server_says(r#"{"id":0,"result":{"serverInfo":{"name":"weather"}}}"#);
    between.client_hears();
    for (id, text) in [(1, "晴"), (2, "雨")] {
        between.client_says(&call(id, "weather"));
        between.server_hears();
        between.server_says(&result(id, text));
        between.client_hears();
    }
    between.hang_up();
    let seen: Vec<_> =
        hindsight.steps().into_iter().map(|s| (s.action_name, s.action_detail, s.observation)).collect();
    let arguments = r#"{"city":"北京"}"#;
    let expected = ["晴", "雨"].map(|text| ("weather".to_owned(), arguments.to_owned(), text.to_owned()));
    assert_eq!(seen, expected);
    assert_eq!(hindsight.starts()[0].agent, "claude-code");
    assert!(hindsight.watched().is_empty(), "an observer asks for nothing");
}

#[test]
fn a_warning_is_added_to_the_result_and_nothing_else_changes() {
    let hindsight = Scripted::warns_of("weather");
    let mut between = Between::new(settings(Mode::Annotate), hindsight.memory());
    between.runtime.block_on(hindsight.until(|h| !h.watched().is_empty()));
    between.client_says(&call(1, "weather"));
    assert_eq!(between.server_hears(), call(1, "weather").to_string());
    between.server_says(&result(1, "sunny"));
    let heard = between.client_hears();
    let added = r#",{"type":"text","text":"weather fails; use another","_meta":{"hindsight/receipt":"receipt-2"}}],"isError":false}}"#;
    assert_eq!(heard, result(1, "sunny").replace(r#"],"isError":false}}"#, added));
    // What belongs to no call stays.
    for line in [&result(1, "again"), r#"{"method":"notifications/progress","params":{"progress":1}}"#] {
        between.server_says(line);
        assert_eq!(between.client_hears(), line);
    }
    between.hang_up();
    assert_eq!(hindsight.steps()[0].observation, "sunny", "the server said no more than that");
    assert_eq!(hindsight.starts().last().unwrap().receipts, ["receipt-2"]);
}

#[test]
fn a_call_that_is_known_to_fail_is_answered_once_and_goes_through_when_repeated() {
    let hindsight = Scripted::warns_of("weather");
    let mut between = Between::new(settings(Mode::Confirm), hindsight.memory());
    between.runtime.block_on(hindsight.until(|h| !h.watched().is_empty()));
    between.client_says(&call(1, "time"));
    assert_eq!(between.server_hears(), call(1, "time").to_string());
    between.server_says(&result(1, "12:00"));
    between.client_hears();
    between.client_says(&call(2, "weather"));
    let warned: Value = serde_json::from_str(&between.client_hears()).unwrap();
    assert_eq!((&warned["id"], &warned["result"]["isError"]), (&json!(2), &json!(true)));
    let text = warned["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("weather fails; use another\n\n") && text.contains("make it again"), "{text}");
    between.client_says(&call(3, "weather"));
    assert_eq!(
        between.server_hears(),
        call(3, "weather").to_string(),
        "the warned call never reached the server"
    );
    between.server_says(&result(3, "sunny"));
    assert_eq!(between.client_hears(), result(3, "sunny"), "it was said already");
    between.hang_up();
    let seen: Vec<_> = hindsight.steps().into_iter().map(|s| (s.action_name, s.observation)).collect();
    let expected = [("time", "12:00"), ("weather", "sunny")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(seen, expected, "a call that was not made is no step");
}

#[test]
fn an_answer_that_does_not_come_in_time_is_silence() {
    let hindsight = Scripted::new(|event| matches!(event, Event::BeforeCall(_)).then(|| NEVER.to_owned()));
    let settings = Settings { patience: Duration::from_millis(5), ..settings(Mode::Confirm) };
    let mut between = Between::new(settings, hindsight.memory());
    between.runtime.block_on(hindsight.until(|h| !h.watched().is_empty()));
    for id in 1..8 {
        between.client_says(&call(id, "weather"));
        assert_eq!(between.server_hears(), call(id, "weather").to_string());
        between.server_says(&result(id, "sunny"));
        assert_eq!(between.client_hears(), result(id, "sunny"));
    }
    between.hang_up();
    assert_eq!(hindsight.steps().len(), 7);
}

#[test]
fn what_is_known_of_a_failure_comes_with_the_failure() {
    let hindsight = Scripted::new(|event| match event {
        Event::AfterCall(call) if call.failed => Some(format!("{}: pass a city in English", call.output)),
        _ => None,
    });
    let mut between = Between::new(settings(Mode::Annotate), hindsight.memory());
    between.runtime.block_on(hindsight.until(|h| !h.watched().is_empty()));
    between.client_says(&call(1, "weather"));
    between.server_hears();
    between.server_says(&result(1, "no such city").replace("false", "true"));
    let heard: Value = serde_json::from_str(&between.client_hears()).unwrap();
    assert_eq!(heard["result"]["content"][1]["text"], "no such city: pass a city in English");
    // An error of the protocol has no place for words, and passes as it is.
    between.client_says(&call(2, "weather"));
    between.server_hears();
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"broken"}}"#;
    between.server_says(error);
    assert_eq!(between.client_hears(), error);
    between.hang_up();
}

#[test]
fn the_first_result_brings_what_is_known_of_the_task() {
    let hindsight = Scripted::new(|event| match event {
        Event::Start(start) => Some(format!("the way to: {}", start.goal)),
        _ => None,
    });
    let mut between = Between::new(settings(Mode::Annotate), hindsight.memory());
    between.runtime.block_on(hindsight.until(|h| !h.watched().is_empty()));
    let mut texts = Vec::new();
    for id in 1..6 {
        between.client_says(&call(id, "weather"));
        between.server_hears();
        // The answer to the start came before that to the call.
        between.runtime.block_on(hindsight.until(|h| h.watched().len() as u64 >= 2 * id));
        between.server_says(&result(id, "sunny"));
        texts.push(between.client_hears());
    }
    between.hang_up();
    let brought = texts.iter().filter(|t| t.contains("the way to: Find the weather")).count();
    assert_eq!(brought, 1, "{texts:#?}");
}

#[test]
fn records_survive_a_stream_that_breaks() {
    let hindsight = Scripted::new(|_| None);
    hindsight.broken.store(2, std::sync::atomic::Ordering::SeqCst);
    let mut between = Between::new(settings(Mode::Observe), hindsight.memory());
    for id in 1..6 {
        between.client_says(&call(id, "weather"));
        between.server_hears();
        between.server_says(&result(id, "sunny"));
        between.client_hears();
    }
    between.runtime.block_on(hindsight.until(|h| h.steps().len() >= 5));
    between.hang_up();
    let mut indexes: Vec<_> = hindsight.steps().iter().map(|s| s.step_index).collect();
    indexes.dedup();
    assert_eq!(indexes, [0, 1, 2, 3, 4], "in order, and nothing is missing");
}

#[test]
fn a_hindsight_that_is_away_is_not_waited_for_at_the_end() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (there, memory) = Memory::later();
    let mut between = Between::new(settings(Mode::Observe), memory);
    let inside = between.runtime.enter();
    there.send_replace(Some(hindsight_client::Client::remote(&format!("http://{nobody}"), None).unwrap()));
    drop(inside);
    between.client_says(&call(1, "weather"));
    between.server_hears();
    between.server_says(&result(1, "sunny"));
    between.client_hears();
    between.notes.close();
    let finished = between.proxy.take().unwrap().finish(Duration::from_secs(3600));
    between.runtime.block_on(async { tokio::time::timeout(AMPLE, finished).await }).unwrap();
}

#[test]
fn words_of_ours_never_cut_a_line_of_the_server() {
    let (mut read, write) = pipe().unwrap();
    let out = Out::new(write);
    out.write(b"{\"half\":").unwrap();
    out.inject(b"ours\n".to_vec()).unwrap();
    out.write(b"1}\n{\"next\"").unwrap();
    out.write(b":2}\n").unwrap();
    out.inject(b"ours again\n".to_vec()).unwrap();
    drop(out);
    let mut all = String::new();
    read.read_to_string(&mut all).unwrap();
    assert_eq!(all, "{\"half\":1}\n{\"next\":2}\nours\nours again\n");
}
