//! Input that grows gives the same as input that is whole.

use std::collections::BTreeMap;

use hindsight_import::{Importer, Live, Options};
use hindsight_types::{Step, Trajectory};
use proptest::prelude::*;

use crate::support::{SAMPLES, options, read_with};

fn origin() -> Options {
    Options { origin: Some("a.log".to_owned()), ..options() }
}

/// Feeds the pieces of `text`; looks at what is under way after each.
fn follow(text: &str, pieces: &[usize]) -> (Vec<Trajectory>, Vec<String>) {
    let mut live = Live::new(origin());
    let mut sent = BTreeMap::<String, Vec<Step>>::new();
    let mut rest = text.as_bytes();
    let (mut runs, mut errors) = (Vec::new(), Vec::new());
    let mut pieces = pieces.iter().cycle();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at((*pieces.next().unwrap()).clamp(1, rest.len()));
        live.feed(piece);
        rest = more;
        for under_way in live.under_way().into_iter().filter(|_| !live.is_document()) {
            let steps = sent.entry(under_way.run.trace_id.to_string()).or_default();
            let settled = &under_way.run.steps[..under_way.settled];
            assert!(settled.len() >= steps.len() || under_way.ended, "what was settled is so no more");
            let common = steps.len().min(settled.len());
            assert_eq!(steps[..common], settled[..common], "a settled step changed");
            *steps = settled.to_vec();
        }
    }
    live.finish();
    for item in live.take() {
        match item {
            Ok(run) => runs.push(run),
            Err(e) => errors.push(e.to_string()),
        }
    }
    for run in &runs {
        let steps = sent.remove(run.trace_id.as_str()).unwrap_or_default();
        assert_eq!(steps, run.steps[..steps.len()], "{}: what was settled is in the run", run.trace_id);
    }
    assert!(sent.is_empty(), "runs that were under way and never came: {:?}", sent.keys());
    (runs, errors)
}

fn whole(text: &str) -> (Vec<Trajectory>, Vec<String>) {
    if let Err(e) = Importer::new(text.as_bytes(), &origin()) {
        return (Vec::new(), vec![format!("line 1: {e}")]);
    }
    let got = read_with(text, &origin());
    (got.runs, got.errors.iter().map(ToString::to_string).collect())
}

#[test]
fn byte_by_byte() {
    for (name, text, _) in SAMPLES {
        // A document is read anew each time.
        let piece = if name.ends_with("l") || name.ends_with(".txt") { 1 } else { 13 };
        assert_eq!(follow(text, &[piece]), whole(text), "{name}");
    }
}

#[test]
fn a_step_is_settled_once_its_result_is_there_and_no_sooner() {
    let (_, text, _) = SAMPLES.iter().find(|s| s.0 == "autogen_team.jsonl").unwrap();
    let mut live = Live::new(options());
    let settled: Vec<_> = text
        .split_inclusive('\n')
        .take(8)
        .map(|line| {
            live.feed(line.as_bytes());
            live.under_way().first().map(|u| (u.run.steps.len(), u.settled))
        })
        .collect();
    let growing =
        [None, Some((1, 0)), Some((2, 0)), Some((2, 2)), Some((3, 2)), Some((3, 3)), Some((4, 4)), None];
    assert_eq!(settled, growing);
    assert_eq!(live.take().len(), 1, "the result of the task ends it");
}

#[test]
fn a_run_without_a_name_keeps_it_while_it_grows() {
    let (_, text, _) = SAMPLES.iter().find(|s| s.0 == "messages.jsonl").unwrap();
    let mut live = Live::new(origin());
    let mut names = std::collections::BTreeSet::new();
    for line in text.split_inclusive('\n') {
        live.feed(line.as_bytes());
        names.extend(live.under_way().into_iter().map(|u| u.run.trace_id));
    }
    assert_eq!(names.len(), 1);
    let other = read_with(text, &Options { origin: Some("b.log".to_owned()), ..options() });
    assert!(!names.contains(&other.runs[0].trace_id), "another input is another run");
}

#[test]
fn leaving_a_session_ends_it_and_coming_back_takes_it_up_again() {
    let entry = |kind: &str, uuid: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","sessionId":"s","uuid":"{uuid}","message":{{"role":"{kind}","content":"{content}"}}}}"#
        ) + "\n"
    };
    let mut live = Live::new(options());
    live.feed((entry("user", "1", "Fix it") + &entry("assistant", "2", "Done")).as_bytes());
    assert!(!live.under_way()[0].ended);
    live.feed(entry("user", "3", "<command-name>/exit</command-name>").as_bytes());
    assert!(live.under_way()[0].ended && live.under_way()[0].settled == 1);
    live.feed(entry("user", "4", "One more thing").as_bytes());
    assert!(!live.under_way()[0].ended);
}

#[test]
fn what_cannot_be_read_says_so_once() {
    let mut live = Live::new(options());
    for _ in 0..100 {
        live.feed(b"nothing of interest\n");
    }
    live.finish();
    let items = live.take();
    assert!(live.given_up() && items.len() == 1, "{items:?}");
    assert!(items[0].as_ref().unwrap_err().reason.contains("no format that is known"), "{items:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn wherever_it_is_cut(
        sample in 0..SAMPLES.len(),
        pieces in proptest::collection::vec(1usize..2000, 1..8),
        cut in 0.0..=1.0f64,
    ) {
        let text = SAMPLES[sample].1;
        let text = &text[..text.ceil_char_boundary((text.len() as f64 * cut) as usize)];
        prop_assume!(!text.trim().is_empty());
        prop_assert_eq!(follow(text, &pieces), whole(text));
    }
}
