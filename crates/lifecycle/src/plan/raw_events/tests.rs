use proptest::prelude::*;

use super::*;

fn trace(n: u32) -> TraceId {
    TraceId::new(format!("t-{n:04}")).unwrap()
}

fn judged(importance: Option<Importance>, alike: u64, reads: u64) -> RawRun {
    RawRun {
        trace: trace(0),
        goes_on: false,
        evaluation: Some(EvaluationState::Judged),
        judged: Some(Judged { importance, alike, reads }),
    }
}

#[test]
fn rare_and_important_stays_and_the_rest_leaves() {
    let settings = RawEventSettings::default();
    let reason = |run| leaves(&run, &settings);
    let worth = Some(Importance::Worth);
    assert_eq!(reason(judged(worth, 3, 3)), None);
    assert_eq!(reason(judged(worth, 4, 0)), Some(Reason::Common));
    assert_eq!(reason(judged(worth, 1, 4)), Some(Reason::Common));
    assert_eq!(reason(judged(None, 1, 0)), Some(Reason::Unimportant));
    for state in [
        None,
        Some(EvaluationState::Skipped { reason: "short".into() }),
        Some(EvaluationState::Failed { reason: "the model refuses".into() }),
    ] {
        let run = RawRun { evaluation: state, judged: None, ..judged(None, 0, 0) };
        assert_eq!(reason(run), Some(Reason::NotJudged));
    }
}

#[test]
fn what_is_still_judged_or_still_goes_on_stays() {
    let settings = RawEventSettings::default();
    let waiting = EvaluationState::Waiting { reason: "the model is away".into() };
    let run = RawRun { evaluation: Some(waiting), judged: None, ..judged(None, 0, 0) };
    assert_eq!(leaves(&run, &settings), None);
    assert_eq!(leaves(&RawRun { goes_on: true, ..judged(None, 9, 9) }, &settings), None);
}

#[test]
fn a_task_says_how_many_leave_for_which_reason() {
    let mut runs: Vec<RawRun> =
        (0..60).map(|n| RawRun { trace: trace(n), ..judged(None, u64::from(n % 2) * 9, 0) }).collect();
    runs.push(RawRun { trace: trace(3), ..judged(None, 9, 0) });
    let plan = plan(&runs, &RawEventSettings::default());
    assert_eq!(plan.len(), 2);
    assert_eq!(plan[0].why, "runs with events older than 14 days: 25 not rare, 25 not important");
    let named: usize = plan.iter().map(|p| p.work.names().len()).sum();
    assert_eq!(named, 60, "a run that is listed twice leaves once");
}

fn any_run() -> impl Strategy<Value = RawRun> {
    let importance = prop_oneof![
        Just(None),
        Just(Some(Importance::Worth)),
        Just(Some(Importance::Solved)),
        Just(Some(Importance::Marked))
    ];
    let state = prop_oneof![
        Just(None),
        Just(Some(EvaluationState::Judged)),
        Just(Some(EvaluationState::Waiting { reason: String::new() })),
        Just(Some(EvaluationState::Skipped { reason: String::new() })),
        Just(Some(EvaluationState::Failed { reason: String::new() })),
    ];
    let judged = proptest::option::of((importance, 0..8_u64, 0..8_u64));
    (0..200_u32, any::<bool>(), state, judged).prop_map(|(n, goes_on, evaluation, judged)| RawRun {
        trace: trace(n),
        goes_on,
        evaluation,
        judged: judged.map(|(importance, alike, reads)| Judged { importance, alike, reads }),
    })
}

proptest! {
    #[test]
    fn a_plan_never_names_what_is_protected_and_nothing_twice(
        runs in proptest::collection::vec(any_run(), 0..150),
        rare_runs in 0..8_u64,
        rare_reads in 0..8_u64,
    ) {
        let settings = RawEventSettings { rare_runs, rare_reads, ..RawEventSettings::default() };
        let mut unique: BTreeMap<TraceId, RawRun> = BTreeMap::new();
        unique.extend(runs.into_iter().map(|run| (run.trace.clone(), run)));
        let runs: Vec<RawRun> = unique.into_values().collect();
        let named: Vec<String> = plan(&runs, &settings).iter().flat_map(|p| p.work.names()).collect();
        for run in &runs {
            let times = named.iter().filter(|name| **name == run.trace.as_str()).count();
            let waits = matches!(run.evaluation, Some(EvaluationState::Waiting { .. }));
            let treasured = run.judged.as_ref().is_some_and(|j| {
                j.importance.is_some() && j.alike <= rare_runs && j.reads <= rare_reads
            });
            let stays = run.goes_on || waits || treasured;
            prop_assert_eq!(times, usize::from(!stays));
        }
    }

    #[test]
    fn planning_again_after_the_plan_was_carried_out_plans_nothing(
        runs in proptest::collection::vec(any_run(), 0..150),
    ) {
        let settings = RawEventSettings::default();
        let gone: Vec<String> = plan(&runs, &settings).iter().flat_map(|p| p.work.names()).collect();
        let left: Vec<RawRun> =
            runs.into_iter().filter(|run| !gone.contains(&run.trace.to_string())).collect();
        prop_assert_eq!(plan(&left, &settings), vec![]);
    }
}
