use hindsight_types::{Lesson, StepMemory};
use proptest::prelude::*;

use super::*;
use crate::samples::{day, fact, lesson, needed, run, scope};

fn ran(trace: &str, goal: &str, ended: i64) -> Experience {
    run(&scope("ann"), trace, goal, ended, &[needed("set_limit", "512m")])
}

fn step(trace: &str, recorded: i64) -> Memory {
    let scope = scope("ann");
    let trace_id = TraceId::new(trace).unwrap();
    Memory::Step(StepMemory {
        id: MemoryId::step(&scope.tenant, &trace_id, 0),
        scope,
        trace_id,
        step_index: 0,
        action_name: "set_limit".to_owned(),
        text: String::new(),
        label: StepLabel::Necessary,
        outcome: OutcomeStatus::Success,
        recorded_at: day(recorded),
    })
}

fn planned(
    runs: &[Experience],
    others: &[Memory],
    reads: &BTreeMap<MemoryId, u64>,
    now: i64,
) -> BTreeSet<MemoryId> {
    let settings = ArchiveSettings::default();
    let mut keeper = Keeper::default();
    runs.iter().for_each(|run| keeper.see(run));
    let protected = keeper.places(&BTreeSet::new(), &settings, day(now));
    let all: Vec<Memory> =
        runs.iter().map(|r| Memory::Experience(Box::new(r.clone()))).chain(others.iter().cloned()).collect();
    let rows = all.iter().map(|m| (m, reads.get(&m.id()).copied().unwrap_or(0)));
    plan(rows, &protected, &settings, day(now)).into_iter().flat_map(|task| task.memories).collect()
}

#[test]
fn what_faded_and_is_not_read_leaves_and_the_latest_of_each_goal_stay() {
    let runs: Vec<Experience> =
        (0..5).map(|n| ran(&format!("t-{n}"), &format!("Repair container web-{n}f"), n)).collect();
    let gone = planned(&runs, &[], &BTreeMap::new(), 200);
    assert_eq!(gone, runs[..3].iter().map(|r| r.id).collect());
    assert!(planned(&runs, &[], &BTreeMap::new(), 100).is_empty(), "not faded yet");
    let read = BTreeMap::from([(runs[0].id, 1)]);
    assert_eq!(planned(&runs, &[], &read, 200), runs[1..3].iter().map(|r| r.id).collect());
}

#[test]
fn a_rare_task_is_known_after_years_with_its_steps() {
    let rare = ran("yearly", "Close the books of the year", 0);
    let steps = [step("yearly", 0), step("daily-0", 0)];
    let mut runs: Vec<Experience> =
        (0..30).map(|n| ran(&format!("daily-{n}"), "Rotate the logs", n)).collect();
    runs.push(rare.clone());
    let gone = planned(&runs, &steps, &BTreeMap::new(), 3_000);
    assert!(!gone.contains(&rare.id) && !gone.contains(&steps[0].id()));
    assert!(gone.contains(&steps[1].id()));
    assert_eq!(gone.len(), 28 + 1);
}

#[test]
fn runs_not_worth_showing_are_not_kept() {
    let mut runs =
        [ran("a", "Close the books", 0), ran("b", "Open the shop", 0), ran("c", "Move the shop", 0)];
    runs[0].evaluation.worth_reference = false;
    runs[1].evaluation.outcome = OutcomeStatus::Unknown;
    runs[2].evaluation.contradictions.push("the last test failed".to_owned());
    assert_eq!(planned(&runs, &[], &BTreeMap::new(), 200).len(), 3);
}

#[test]
fn failures_outlast_successes_and_facts_and_serving_lessons_stay() {
    let mut failed = ran("f", "Repair the gateway", 0);
    failed.evaluation.outcome = OutcomeStatus::Failure;
    failed.evaluation.worth_reference = false;
    assert!(planned(std::slice::from_ref(&failed), &[], &BTreeMap::new(), 700).is_empty());
    assert_eq!(planned(&[failed], &[], &BTreeMap::new(), 800).len(), 1);
    let retired = Lesson { stage: Stage::Retired, ..lesson(&scope("ann"), "r", "x", "y") };
    let serving = Lesson { stage: Stage::Active, ..lesson(&scope("ann"), "s", "x", "y") };
    let others = [
        Memory::Fact(fact("ann", "k", "I like tea", 0)),
        Memory::Lesson(retired.clone()),
        Memory::Lesson(serving),
    ];
    assert_eq!(planned(&[], &others, &BTreeMap::new(), 5_000), BTreeSet::from([retired.id]));
}

#[test]
fn a_lesson_that_nothing_proved_nor_confirmed_leaves() {
    let unproven = |key: &str, stage| Lesson { stage, ..lesson(&scope("ann"), key, "x", "y") };
    let mut said = unproven("said", Stage::Candidate);
    said.revision = Some(hindsight_types::Revision {
        at: day(1),
        cause: hindsight_types::RevisionCause::Updated,
        by: "ann".to_owned(),
        reason: String::new(),
        request_id: String::new(),
    });
    let left = [unproven("seen once", Stage::Candidate), unproven("confirmed once", Stage::Canary)];
    let mut fresh = unproven("confirmed lately", Stage::Canary);
    fresh.last_supported_at = day(100);
    let all = [&left[0], &left[1], &fresh, &said].map(|lesson| Memory::Lesson(lesson.clone()));
    assert_eq!(planned(&[], &all, &BTreeMap::new(), 200), left.iter().map(|lesson| lesson.id).collect());
}

#[test]
fn of_what_comes_often_the_latest_of_each_end_are_searched() {
    let few = ArchiveSettings { served_per_goal: 3, ..ArchiveSettings::default() };
    let mut runs: Vec<Experience> =
        (0..12).map(|n| ran(&format!("t-{n:02}"), &format!("Repair container web-{n}f"), n)).collect();
    for failed in runs.iter_mut().step_by(2) {
        failed.evaluation.outcome = OutcomeStatus::Failure;
    }
    let other = ran("other", "Close the books", 0);
    let mut keeper = Keeper::default();
    runs.iter().chain([&other]).for_each(|run| keeper.see(run));
    let places = keeper.places(&BTreeSet::new(), &few, day(13));
    // Days 0 to 5; those of the last week stay whatever they are.
    assert_eq!(places.surplus, runs[..6].iter().map(|run| run.trajectory.trace_id.clone()).collect());

    let all: Vec<Memory> =
        runs.iter().map(|run| Memory::Experience(Box::new(run.clone()))).chain([step("t-00", 0)]).collect();
    let leaving = plan(all.iter().map(|memory| (memory, 0)), &places, &few, day(13));
    assert!(leaving.iter().all(|task| task.cause == Cause::Surplus), "{leaving:?}");
    let gone: BTreeSet<MemoryId> = leaving.into_iter().flat_map(|task| task.memories).collect();
    assert_eq!(gone, runs[..6].iter().map(|run| run.id).chain([all[12].id()]).collect());
    let read = plan(all.iter().map(|memory| (memory, 1)), &places, &few, day(13));
    assert_eq!(read, [], "what is read stays");
}

#[test]
fn what_was_archived_long_enough_is_deleted_unless_it_came_back() {
    let archived = |n: i64, back: Option<i64>| Archived {
        memory: Memory::Experience(Box::new(ran(&format!("t-{n}"), "Close the books", 0))),
        at: day(n),
        why: String::new(),
        instead: None,
        restored_at: back.map(day),
    };
    let all = [archived(0, None), archived(1, Some(5)), archived(20, None), archived(21, None)];
    let planned = expired(&all, &ArchiveSettings::default(), day(200));
    let Work::ExpireArchived { kind: MemoryKind::Experience, memories } = &planned[0].work else {
        panic!("other work: {planned:?}")
    };
    let due: BTreeSet<MemoryId> = memories.iter().copied().collect();
    assert_eq!((planned.len(), due), (1, BTreeSet::from([all[0].memory.id(), all[2].memory.id()])));
}

#[test]
fn what_was_brought_back_stays() {
    let run = {
        let mut run = ran("a", "Close the books", 0);
        run.evaluation.worth_reference = false;
        run
    };
    let settings = ArchiveSettings::default();
    let protected = Keeper::default().places(&BTreeSet::from([run.id]), &settings, day(900));
    let memory = Memory::Experience(Box::new(run));
    assert_eq!(leaves(&memory, 0, &protected, &settings, day(900)), None);
    assert_eq!(leaves(&memory, 0, &Places::default(), &settings, day(900)), Some(Cause::Faded));
}

#[test]
fn no_more_than_so_many_are_kept_the_important_first() {
    let mut proven = ran("proven", "Pay the invoices", 0);
    proven.evaluation.outcome_evidence = vec![hindsight_types::OutcomeEvidence {
        source: EvidenceSource::TestResult,
        verdict: OutcomeStatus::Success,
        detail: String::new(),
        observed_at: None,
    }];
    let goals = ["Close the books", "Water the plants", "Feed the cat", "Paint the fence"];
    let mut keeper = Keeper::default();
    keeper.see(&proven);
    for (n, goal) in goals.iter().enumerate() {
        keeper.see(&ran(&format!("t-{n}"), goal, n as i64));
    }
    let protected =
        keeper.places(&BTreeSet::new(), &ArchiveSettings { kept: 2, ..ArchiveSettings::default() }, day(9));
    let traces: Vec<&str> = protected.traces.iter().map(TraceId::as_str).collect();
    assert_eq!(traces, ["proven", "t-3"]);
}

proptest! {
    /// Whatever there is: nothing protected or read leaves, and what has left is planned no more.
    #[test]
    fn protected_stays_and_the_second_plan_is_empty(
        all in proptest::collection::vec(("[a-d]{1,2}", 0_i64..400, any::<bool>(), 0_u64..2), 0..20),
        now in 0_i64..800,
    ) {
        let runs: Vec<Experience> = all.iter().enumerate().map(|(n, (goal, ended, worth, _))| {
            let mut run = ran(&format!("t-{n}"), &format!("do {goal} now"), *ended);
            run.evaluation.worth_reference = *worth;
            run
        }).collect();
        let reads: BTreeMap<MemoryId, u64> = runs.iter().zip(&all).map(|(r, (.., reads))| (r.id, *reads)).collect();
        let mut keeper = Keeper::default();
        runs.iter().for_each(|run| keeper.see(run));
        let protected = keeper.places(&BTreeSet::new(), &ArchiveSettings::default(), day(now));
        let gone = planned(&runs, &[], &reads, now);
        prop_assert!(gone.iter().all(|id| !protected.memories.contains(id) && reads[id] == 0));
        let left: Vec<Experience> = runs.into_iter().filter(|r| !gone.contains(&r.id)).collect();
        prop_assert!(planned(&left, &[], &reads, now).is_empty());
    }
}
