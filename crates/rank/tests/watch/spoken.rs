//! What a stream says when, and why it is silent.

use std::time::Duration;

use hindsight_rank::watch::{Event, Hush, Policy, Refusal, asks};
use hindsight_types::*;
use rstest::rstest;

use crate::world::{Answer, Stream, at, fact, pattern};

const NPM: &str = r#"{"command": "npm install -g typescript"}"#;
const EACCES: &str = "npm ERR! code EACCES permission denied";

fn npm(runs: usize) -> FailurePattern {
    pattern(None, "bash", NPM, EACCES, runs)
}

fn reminded(answer: &Answer) -> &str {
    match answer {
        Answer::Reminder { block, .. } => block,
        other => panic!("{other:?}"),
    }
}

fn started(memories: &[Memory]) -> Stream {
    let mut stream = Stream::new(Policy::default(), memories);
    stream.start("");
    stream
}

#[test]
fn a_call_that_is_known_to_fail_is_warned_of_once() {
    let mut stream = started(&[Memory::FailurePattern(npm(3))]);
    let answer = stream.call("bash", NPM, 1);
    let block = reminded(&answer);
    for part in ["EACCES", "npm install -g typescript", "use the mirror", "seen 3 times in the last 30 days"]
    {
        assert!(block.contains(part), "{part}: {block}");
    }
    let Answer::Reminder { id, .. } = answer else { panic!() };
    assert_eq!(stream.call("bash", NPM, 2), Answer::Silence(Hush::SaidBefore(id)));
    assert_eq!(stream.withheld, [(npm(3).id, WithheldReason::SaidBefore)]);
    assert_eq!(stream.call("bash", r#"{"command": "ls"}"#, 3), Answer::Silence(Hush::NothingKnown));
}

#[test]
fn what_was_seen_once_is_said_to_be() {
    let policy = Policy { min_times: 1, ..Policy::default() };
    let mut stream = Stream::new(policy, &[Memory::FailurePattern(npm(1))]);
    stream.start("");
    let answer = stream.call("bash", NPM, 1);
    assert!(reminded(&answer).contains("seen once in the last 30 days"), "{answer:?}");
}

#[test]
fn a_rare_failure_is_not_warned_of_but_told_when_it_is_met() {
    let mut stream = started(&[Memory::FailurePattern(npm(2))]);
    assert_eq!(stream.call("bash", NPM, 1), Answer::Silence(Hush::BelowThreshold));
    assert_eq!(stream.withheld, [(npm(2).id, WithheldReason::TooRare)]);
    let failed = Event::Failed {
        tool: "bash".to_owned(),
        arguments: "npm install -g typescript".to_owned(),
        error: EACCES.to_owned(),
    };
    let answer = stream.tell(failed, "", at(2));
    assert!(reminded(&answer).contains("use the mirror"));
}

#[test]
fn a_suggestion_that_misled_is_kept_back() {
    let misleading = FailurePattern { refuted: 9, ..npm(3) };
    let elsewhere = FailurePattern { suggestion: " ".to_owned(), ..npm(3) };
    for pattern in [misleading, elsewhere] {
        let mut stream = started(&[Memory::FailurePattern(pattern)]);
        assert_eq!(stream.call("bash", NPM, 1), Answer::Silence(Hush::BelowThreshold));
    }
}

#[test]
fn after_a_warning_the_tool_has_quiet_and_the_budget_ends() {
    let pull = r#"{"command": "docker pull registry/api"}"#;
    let memories =
        [npm(3), pattern(None, "bash", pull, "denied", 3), pattern(None, "sql", "{}", "locked", 3)];
    let memories = memories.map(Memory::FailurePattern);
    let policy = Policy { reminders: 2, cool_down: Duration::from_secs(10), ..Policy::default() };
    let mut stream = Stream::new(policy, &memories);
    stream.start("");
    reminded(&stream.call("bash", NPM, 0));
    assert_eq!(stream.call("bash", pull, 9), Answer::Silence(Hush::CoolDown));
    reminded(&stream.call("sql", "{}", 9));
    assert_eq!(stream.call("bash", pull, 10), Answer::Silence(Hush::Budget));
    let reasons: Vec<_> = stream.withheld.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [WithheldReason::CoolDown, WithheldReason::Reminders]);
}

#[test]
fn nobody_is_told_what_is_another_ones() {
    let memories = [
        Memory::FailurePattern(pattern(Some("bob"), "bash", NPM, EACCES, 9)),
        fact("bob", "pin", "the spare key is under the flower pot"),
    ];
    let mut stream = Stream::new(Policy::default(), &memories);
    assert_eq!(stream.start("where is the spare key?"), Answer::Silence(Hush::NothingKnown));
    assert_eq!(stream.call("bash", NPM, 1), Answer::Silence(Hush::NothingKnown));
    assert!(stream.withheld.is_empty(), "not even in a receipt");
}

#[test]
fn a_question_of_the_user_is_answered_and_small_talk_is_not() {
    let said = fact("ann", "key", "the spare key is under the blue flower pot");
    let mut stream = started(&[said]);
    let say = |text: &str| Event::Message { text: text.to_owned() };
    assert_eq!(stream.tell(say("thanks"), "", at(1)), Answer::Silence(Hush::NotAsked));
    let answer = stream.tell(say("Do you remember where the spare key is?"), "", at(2));
    assert!(reminded(&answer).contains("blue flower pot"));
    let Answer::Reminder { id, .. } = answer else { panic!() };
    let again = stream.tell(say("do you remember where the spare key is?"), "", at(3));
    assert_eq!(again, Answer::Silence(Hush::SaidBefore(id)));
}

#[test]
fn a_new_intent_is_a_new_start() {
    let said = fact("ann", "seat", "prefers window seats on night trains to Vienna");
    let mut stream = Stream::new(Policy::default(), &[said]);
    assert_eq!(stream.start("summarise the invoices of May"), Answer::Silence(Hush::BelowThreshold));
    let turn = Event::Message { text: "book window seats on the night trains to Vienna".to_owned() };
    assert!(reminded(&stream.tell(turn, "", at(5))).contains("window seats"));
}

#[test]
fn a_stream_begins_with_its_start_and_has_one() {
    let mut stream = Stream::new(Policy::default(), &[]);
    assert_eq!(stream.call("bash", NPM, 0), Answer::Refused(Refusal::NotStarted));
    assert_eq!(stream.start(""), Answer::Silence(Hush::NotAsked));
    assert_eq!(stream.start("again"), Answer::Refused(Refusal::StartedBefore));
}

#[rstest]
#[case("Do you remember my order?", true)]
#[case("hey, don’t you   remember me?", true)]
#[case("Have we seen this before", true)]
#[case("How did we fix it last week?", true)]
#[case("Remember to call Bob.", false)]
#[case("Please remember that I like tea", false)]
#[case("I don't remember the number, do you remember it?", true)]
#[case("I can't remember", false)]
#[case("restart the service", false)]
#[case("你还记得我的订单吗？", true)]
#[case("这个问题以前遇到过没有", true)]
#[case("上次怎么解决的？", true)]
#[case("我不记得了", false)]
#[case("你记得要给他打电话", false)]
#[case("重启服务", false)]
#[case("", false)]
fn who_asks_the_memory(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(asks(text), expected, "{text}");
}
