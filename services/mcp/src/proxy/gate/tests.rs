use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{
    super::{
        Connection, Mode, Proxy, Settings,
        testkit::{AMPLE, Scripted, settings},
    },
    *,
};

/// Long enough for no answer of a memory that thinks.
const SHORT: Duration = Duration::from_millis(1);

/// Warns of a call of `weather` once, as Hindsight does.
fn once() -> Scripted {
    let said = AtomicBool::new(false);
    Scripted::new(move |event| match event {
        Event::BeforeCall(call) if call.tool == "weather" && !said.swap(true, Ordering::SeqCst) => {
            Some("weather fails; use another".to_owned())
        }
        _ => None,
    })
}

struct Gated {
    gate: std::sync::Arc<Gate>,
    notes: Notes,
    proxy: Proxy,
}

impl Gated {
    async fn new(mode: Mode, patience: Duration, hindsight: &Scripted) -> Self {
        let mut proxy = Proxy::new(Settings { patience, ..settings(mode) }, hindsight.memory());
        let Connection { notes, gate } = proxy.connect("server.py");
        let gate = gate.unwrap();
        hindsight.until(|h| !h.watched().is_empty()).await;
        Self { gate, notes, proxy }
    }

    async fn ask(&self, way: Way, id: u64, tool: &str, city: &str) -> Verdict {
        let call =
            json!({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"city": city}}});
        let call = call.to_string();
        let bytes = call.as_bytes();
        self.notes.note(Seen::Message { side: Side::Client, way, bytes: call.clone().into() });
        self.gate.request(way, bytes).await
    }

    /// What was added to the answer.
    async fn answer(&self, way: Way, result: &Value) -> Option<String> {
        let line = result.to_string();
        self.notes.note(Seen::Message { side: Side::Server, way, bytes: line.clone().into() });
        let spliced: Value = serde_json::from_slice(&self.gate.answer(way, line.as_bytes()).await?).unwrap();
        Some(spliced["result"]["content"][1]["text"].as_str().unwrap().to_owned())
    }

    /// The receipts of what was said.
    async fn end(self, hindsight: &Scripted) -> Vec<String> {
        self.notes.close();
        drop(self.gate);
        self.proxy.finish(AMPLE).await;
        hindsight.starts().last().map(|start| start.receipts.clone()).unwrap_or_default()
    }
}

fn sunny(id: u64) -> Value {
    json!({"id": id, "result": {"content": [{"type": "text", "text": "sunny"}]}})
}

#[tokio::test]
async fn a_late_warning_comes_with_the_next_result_of_the_tool() {
    let hindsight = once();
    let gated = Gated::new(Mode::Annotate, SHORT, &hindsight).await;
    hindsight.thinking.send_replace(true);
    gated.ask(Way::Common, 1, "weather", "北京").await;
    assert_eq!(gated.answer(Way::Common, &sunny(1)).await, None, "it was late");
    hindsight.thinking.send_replace(false);
    let warned = tokio::time::timeout(AMPLE, async {
        for id in 2.. {
            gated.ask(Way::Common, id, "time", "").await;
            assert_eq!(gated.answer(Way::Common, &sunny(id)).await, None, "it is about another tool");
            gated.ask(Way::Common, id, "weather", "Rome").await;
            if let Some(said) = gated.answer(Way::Common, &sunny(id)).await {
                return said;
            }
        }
        unreachable!("there is always a next one")
    });
    assert_eq!(warned.await.unwrap(), "weather fails; use another");
    assert_eq!(gated.end(&hindsight).await, ["receipt-2"], "it was said once, and counts as said");
}

#[tokio::test]
async fn a_late_warning_holds_back_the_repetition_of_the_call() {
    let hindsight = once();
    let gated = Gated::new(Mode::Confirm, SHORT, &hindsight).await;
    hindsight.thinking.send_replace(true);
    assert_eq!(gated.ask(Way::Common, 1, "weather", "北京").await, Verdict::Pass, "it was late");
    assert_eq!(gated.answer(Way::Common, &sunny(1)).await, None);
    hindsight.thinking.send_replace(false);
    let held = tokio::time::timeout(AMPLE, async {
        for id in 2.. {
            if let Verdict::Answer(answer) = gated.ask(Way::Common, id, "weather", "北京").await {
                return String::from_utf8(answer).unwrap();
            }
        }
        unreachable!("there is always a next one")
    });
    let held = held.await.unwrap();
    assert!(held.contains("weather fails; use another") && held.contains("This call was not made"), "{held}");
    assert_eq!(gated.ask(Way::Common, 0, "weather", "北京").await, Verdict::Pass, "it was said");
    gated.end(&hindsight).await;
}

#[tokio::test]
async fn what_has_no_place_in_an_error_comes_with_the_next_result() {
    let hindsight = once();
    let gated = Gated::new(Mode::Annotate, AMPLE, &hindsight).await;
    gated.ask(Way::Common, 1, "weather", "北京").await;
    let error = json!({"id": 1, "error": {"code": -32000, "message": "broken"}});
    assert_eq!(gated.answer(Way::Common, &error).await, None);
    gated.ask(Way::Common, 2, "weather", "北京").await;
    let said = gated.answer(Way::Common, &sunny(2)).await;
    assert_eq!(said.unwrap(), "weather fails; use another");
    gated.end(&hindsight).await;
}

#[tokio::test]
async fn a_warning_goes_to_the_one_who_makes_the_call() {
    let hindsight = Scripted::warns_of("weather");
    let gated = Gated::new(Mode::Annotate, AMPLE, &hindsight).await;
    let (weather, time) = (Way::Exchange(1), Way::Exchange(2));
    gated.ask(weather, 1, "weather", "北京").await;
    gated.ask(time, 1, "time", "北京").await;
    assert_eq!(gated.answer(time, &sunny(1)).await, None);
    assert_eq!(gated.answer(weather, &sunny(1)).await.unwrap(), "weather fails; use another");
    gated.end(&hindsight).await;
    let seen: Vec<_> = hindsight.steps().into_iter().map(|s| s.action_name).collect();
    assert_eq!(seen, ["time", "weather"]);
}

#[tokio::test]
async fn an_id_comes_back_as_the_client_wrote_it() {
    let hindsight = Scripted::warns_of("weather");
    let gated = Gated::new(Mode::Confirm, AMPLE, &hindsight).await;
    for id in ["12345678901234567890123", r#""\u0041""#, "-0.50"] {
        let call = format!(
            r#"{{"id":{id},"method":"tools\/call","params":{{"name":"weather","arguments":{{"for":{id}}}}}}}"#
        );
        let Verdict::Answer(answer) = gated.gate.request(Way::Common, call.as_bytes()).await else {
            panic!("{call} passed");
        };
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{answer}");
    }
    gated.end(&hindsight).await;
}
