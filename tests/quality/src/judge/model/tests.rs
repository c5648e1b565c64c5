//! The whole path against a scripted server: question over HTTP, answer, labels, figures; then from the recording.

use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::*;

const RECORDED: [&str; 2] = ["openai-chat.json", "claude-code-session.jsonl"];

/// One run of a search agent, in the form of the data set.
fn data() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let call = |id: &str, query: &str| {
        let arguments = json!({ "query": query }).to_string();
        json!([{"id": id, "type": "function", "function": {"name": "search", "arguments": arguments}}])
    };
    let record = json!({
        "total_index": 1,
        "messages": [
            {"role": "user", "content": "Who built the bridge of Mostar?"},
            {"role": "assistant", "content": "", "tool_calls": call("1", "bridge of Mostar")},
            {"role": "tool", "tool_call_id": "1", "content": "Stari Most, built by Mimar Hayruddin in 1566"},
            {"role": "assistant", "content": "", "tool_calls": call("2", "weather in Mostar")},
            {"role": "tool", "tool_call_id": "2", "content": "sunny"},
            {"role": "assistant", "content": "Mimar Hayruddin built it."}
        ],
        "step_labels": {"1": 1, "3": 0, "5": 1}
    });
    std::fs::create_dir(folder.path().join("agentprocessbench")).unwrap();
    std::fs::write(folder.path().join("agentprocessbench/hotpotqa_dev.jsonl"), format!("{record}\n"))
        .unwrap();
    folder
}

/// Labels every step as the bench does; the first answer leaves one out.
fn answer(request: &Request, first: bool) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let question =
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let (_, asked) = question.split_once("Label the steps: ").unwrap();
    let (asked, _) = asked.split_once('.').unwrap();
    let items: Vec<Value> = asked
        .split(", ")
        .skip(usize::from(first))
        .map(|n| {
            let label = if n == "1" { "redundant" } else { "necessary" };
            json!({"step": n.parse::<u32>().unwrap(), "label": label, "reason": "r", "used_by": -1, "used": ""})
        })
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({
        "model": "scripted-1",
        "choices": [{
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": json!({ "steps": items }).to_string()}
        }],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    }))
}

fn args(data: &TempDir) -> Args {
    Args {
        data: Some(data.path().to_owned()),
        runs: Vec::new(),
        llm_url: None,
        llm_model: None,
        llm_kind: Kind::Openai,
        llm_key_file: None,
        llm_timeout: 20,
        record: None,
        replay: None,
        judgements: 1,
        sample: None,
        longest: None,
        json: true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_server_is_asked_corrected_recorded_and_replayed() {
    let server = MockServer::start().await;
    let calls = std::sync::atomic::AtomicUsize::new(0);
    Mock::given(method("POST"))
        .respond_with(move |r: &Request| {
            answer(r, calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0)
        })
        .mount(&server)
        .await;
    let data = data();
    let file = data.path().join("answers.jsonl");
    let live = Args {
        llm_url: Some(server.uri()),
        llm_model: Some("scripted".to_owned()),
        record: Some(file.clone()),
        ..args(&data)
    };
    let measured = tokio::task::spawn_blocking(move || measure(&live)).await.unwrap().unwrap();
    let [report] = measured.as_slice() else { panic!("one set is there") };
    let told = serde_json::to_value(report).unwrap();
    assert_eq!((told["judged"].as_u64(), told["steps"].as_u64()), (Some(1), Some(3)));
    assert_eq!((told["calls"].as_u64(), told["repairs"].as_u64()), (Some(2), Some(1)));
    assert_eq!(told["tokens"], 240);
    assert_eq!(told["models"], json!(["scripted-1"]));
    assert_eq!(
        (&told["rows"][1]["judge"], &told["rows"][1]["step_accuracy"]),
        (&json!("model"), &json!(1.0))
    );
    assert_eq!(told["rows"][1]["wrongly_necessary"], 0.0);

    drop(server);
    let replay = Args { replay: Some(file), ..args(&data) };
    let again = tokio::task::spawn_blocking(move || measure(&replay)).await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(&again[0]).unwrap()["rows"], told["rows"]);
}

/// What a small real model answered about two of the sample runs. Recorded anew, when prompt or digest change,
/// with `model --runs … --record …` as the README says.
#[test]
fn answers_of_a_real_model_are_read() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let replay = Args {
        data: None,
        runs: RECORDED.map(|name| here.join("../../examples/runs").join(name)).to_vec(),
        replay: Some(here.join("recordings/qwen2.5-coder-1.5b.jsonl")),
        ..args(&folder)
    };
    let told = serde_json::to_value(&measure(&replay).unwrap()[0]).unwrap();
    assert_eq!(told["judged"], told["runs"], "{told}");
    assert_eq!(
        (&told["repairs"], &told["models"]),
        (&json!(0), &json!(["qwen2.5-coder-1.5b-instruct-q4_k_m"]))
    );
}
