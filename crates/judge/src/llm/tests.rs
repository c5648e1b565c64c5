use hindsight_ports::{
    LlmError, LlmReply, LlmRequest,
    testkit::llm::{ScriptedLlm, reply},
};
use hindsight_types::{OutcomeStatus, StepLabel, TenantId};
use serde_json::{Value, json};

use super::*;
use crate::testing::{disk_alarm, restart_loop, run};

mod hostile;

fn tenant() -> TenantId {
    TenantId::new("t").unwrap()
}

/// The numbers of the steps a question asks about.
pub(super) fn asked(question: &str) -> Vec<u32> {
    let (_, list) = question.split_once("Label the steps: ").unwrap();
    let (list, _) = list.split_once('.').unwrap();
    list.split(", ").map(|n| n.parse().unwrap()).collect()
}

/// An answer that gives every step the label that `label` says.
pub(super) fn answering(request: &LlmRequest, label: impl Fn(u32) -> &'static str) -> LlmReply {
    let item =
        |n: u32| json!({"step": n, "label": label(n), "reason": "因为如此", "used_by": -1, "used": ""});
    reply(json!({"steps": asked(&request.user).into_iter().map(item).collect::<Vec<_>>()}).to_string())
}

async fn judge(judge: LlmJudge, llm: &ScriptedLlm, t: &Trajectory) -> Result<LlmVerdict, LlmFailure> {
    judge.judge(llm, &tenant(), t).await
}

#[tokio::test]
async fn every_step_gets_the_label_the_model_gave_it() {
    let t = restart_loop();
    let llm =
        ScriptedLlm::answering(|r| Ok(answering(r, |n| if n == 5 { "redundant" } else { "necessary" })));
    let verdict = judge(LlmJudge::default(), &llm, &t).await.unwrap();
    let [labels] = verdict.judgements.as_slice() else { panic!("one judgement") };
    assert_eq!(labels.iter().map(|l| l.step_index).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert_eq!(labels[5].label, StepLabel::Redundant);
    assert_eq!(labels[4].reason, "因为如此");
    assert_eq!((verdict.model.as_str(), verdict.spent.calls, verdict.spent.repairs), ("scripted", 1, 0));
    assert_eq!(verdict.spent.usage.tokens(), 110);

    let [request] = llm.requests().try_into().unwrap();
    assert_eq!(request.system, prompt::SYSTEM);
    assert_eq!((request.temperature, request.seed), (0.0, Some(0)));
    assert!(request.schema.is_some());
    assert!(request.user.contains("docker restart payment-api"), "{}", request.user);
}

#[test]
fn ten_steps_take_about_a_thousand_tokens() {
    let t = restart_loop();
    let entries = entry::all(&t);
    let tokens: usize = entries.iter().map(|e| prompt::tokens(&e.line)).sum();
    assert!((300..=1_000).contains(&tokens), "{tokens}");
    for entry in entries {
        let line: Value = serde_json::from_str(&entry.line).unwrap();
        let length = |key: &str| line[key].as_str().map_or(0, |s| s.chars().count());
        assert!(length("saw") <= 101 && (line.get("tool").is_none() || length("do") <= 51), "{}", entry.line);
    }
}

#[tokio::test]
async fn steps_that_repeat_are_shown_once_and_one_of_them_counts() {
    let mut t = run("Wait for the build").call("start_build", r#"{"id":"b-1"}"#, "started");
    for _ in 0..3 {
        t = t.call("get_build", r#"{"id":"b-1"}"#, "running");
    }
    let t = t.call("get_build", r#"{"id":"b-1"}"#, "passed").says("The build b-1 passed").succeeded();
    let llm = ScriptedLlm::answering(|r| Ok(answering(r, |_| "necessary")));
    let verdict = judge(LlmJudge::default(), &llm, &t).await.unwrap();
    assert_eq!(asked(&llm.requests()[0].user), [0, 1, 5]);
    assert!(llm.requests()[0].user.contains(r#"{"step":1,"to":4,"#));
    let labels: Vec<StepLabel> = verdict.judgements[0].iter().map(|l| l.label).collect();
    use StepLabel::{Necessary, Redundant};
    assert_eq!(labels, [Necessary, Redundant, Redundant, Redundant, Necessary, Necessary]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_sent_back_once_with_what_is_wrong() {
    let t = disk_alarm();
    let good = |r: &LlmRequest| Ok(answering(r, |_| "redundant"));
    let mut first = true;
    let llm = ScriptedLlm::answering(move |r| {
        if std::mem::take(&mut first) {
            let answer = json!({"steps": [
                {"step": 0, "label": "vital", "reason": "x", "used_by": -1, "used": ""},
                {"step": 99, "label": "failed", "reason": "x", "used_by": -1, "used": ""},
                {"step": 1, "label": "failed", "reason": " ", "used_by": -1, "used": ""},
                {"step": 2, "label": "failed", "reason": "x", "used_by": -1, "used": ""},
                {"step": 2, "label": "failed", "reason": "x", "used_by": -1, "used": ""},
            ]});
            return Ok(reply(answer.to_string()));
        }
        good(r)
    });
    let verdict = judge(LlmJudge::default(), &llm, &t).await.unwrap();
    assert_eq!((verdict.spent.calls, verdict.spent.repairs, verdict.spent.usage.tokens()), (2, 1, 220));
    let again = &llm.requests()[1].user;
    for problem in [
        "step 0: `vital` is not a label",
        "step 99 was not asked about",
        "step 1 has no reason",
        "step 2 is labelled twice",
    ] {
        assert!(again.contains(problem), "{problem}: {again}");
    }
}

#[tokio::test]
async fn a_second_answer_that_cannot_be_used_is_a_failure_with_its_reason() {
    let t = disk_alarm();
    let llm = ScriptedLlm::saying([r#"{"steps":[]}"#, r#"{"steps":[]}"#, "never asked for"]);
    let failure = judge(LlmJudge::default(), &llm, &t).await.unwrap_err();
    assert!(failure.to_string().contains("no label for step 0, 1, 2"), "{failure}");
    assert_eq!((failure.spent.calls, llm.requests().len()), (2, 2));

    let truncated = |_: &LlmRequest| {
        let usage = LlmUsage { input_tokens: 7, output_tokens: 3, cost_micros: 1 };
        Err(LlmError::Truncated { text: "{\"steps\":[{".to_owned(), max_output_tokens: 9, usage })
    };
    let llm = ScriptedLlm::answering(truncated);
    let failure = judge(LlmJudge::default(), &llm, &t).await.unwrap_err();
    assert!(matches!(&failure.cause, Cause::Unusable(why) if why.contains("too long")), "{failure}");
    assert_eq!((failure.spent.usage.tokens(), failure.spent.usage.cost_micros), (20, 2));
}

#[tokio::test]
async fn what_the_port_says_comes_through_and_is_not_repeated() {
    let away = LlmError::Unavailable { reason: "down".to_owned(), retry_after: None };
    let llm = ScriptedLlm::new([Err(away.clone())]);
    let failure = judge(LlmJudge::default(), &llm, &disk_alarm()).await.unwrap_err();
    assert_eq!((failure.cause, llm.requests().len()), (Cause::Llm(away), 1));
}

#[tokio::test]
async fn a_long_run_is_asked_about_in_parts_that_cover_it_once() {
    let mut t = run("Look at every host");
    for n in 0..300 {
        t = t.call("get_host", &format!(r#"{{"host":"host-{n}"}}"#), &format!("host-{n} is up, load {n}"));
    }
    let t = t.says("All hosts are up").ended(OutcomeStatus::Success);
    let few = LlmJudge { window_tokens: 1_000, judgements: 2, ..LlmJudge::default() };
    let llm =
        ScriptedLlm::answering(|r| Ok(answering(r, |n| if n % 2 == 0 { "necessary" } else { "redundant" })));
    let verdict = judge(few, &llm, &t).await.unwrap();
    let requests = llm.requests();
    assert!(requests.len() >= 8, "{}", requests.len());
    for request in &requests {
        assert!(prompt::tokens(&request.user) < 1_500);
        assert!(request.user.contains("All hosts are up"), "each part shows how it ended");
        assert_eq!(request.temperature, FREELY);
    }
    let mut covered: Vec<u32> =
        requests.iter().filter(|r| r.seed == Some(1)).flat_map(|r| asked(&r.user)).collect();
    covered.sort_unstable();
    assert_eq!(covered, (0..301).collect::<Vec<_>>());
    for judgement in &verdict.judgements {
        assert_eq!(judgement.iter().map(|l| l.step_index).collect::<Vec<_>>(), covered);
        assert!(judgement.iter().all(|l| (l.label == StepLabel::Necessary) == (l.step_index % 2 == 0)));
    }

    let failure = judge(LlmJudge { windows: 3, ..few }, &llm, &t).await.unwrap_err();
    assert!(matches!(failure.cause, Cause::TooLong { most: 3, .. }), "{failure}");
}

#[test]
fn the_examples_of_the_prompt_are_answers_that_would_be_taken() {
    let mut examples = 0;
    for part in prompt::SYSTEM.split(prompt::BEGINS).skip(2) {
        let (record, rest) = part.split_once(prompt::ENDS).unwrap();
        let lines: Vec<Value> =
            record.lines().filter(|l| !l.is_empty()).map(|l| serde_json::from_str(l).unwrap()).collect();
        let entries: Vec<Entry> = lines
            .iter()
            .filter(|l| l["kind"] == "TOOL_CALL")
            .map(|l| l["step"].as_u64().unwrap() as u32)
            .map(|n| Entry { first: n, last: n, telling: n, line: String::new() })
            .collect();
        let answer = rest.lines().find(|l| l.starts_with('{')).unwrap();
        let labels = answer::read(answer, &entries, 0..entries.len(), entries.len() as u32).unwrap();
        assert_eq!(labels.len(), asked(rest).len());
        for by in labels.iter().filter_map(|l| l.used_by.as_ref().map(|by| (l, by))) {
            let shown = lines[by.0.step_index as usize + 1]["saw"].as_str().unwrap();
            let used = &lines[by.1.step_index as usize + 1];
            assert!(shown.contains(&by.1.words), "{by:?}");
            let said = format!("{}{}", used["do"], used["saw"]);
            assert!(said.contains(&by.1.words) || by.1.step_index as usize == entries.len(), "{by:?}");
        }
        examples += 1;
    }
    assert_eq!(examples, 2);
}
