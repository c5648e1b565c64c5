//! All that condenses, on a model of a store: what was done is not planned again by any policy, what is protected
//! stays, and nothing of one scope reaches another.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use hindsight_lifecycle::{
    archive::{self, ArchiveSettings, Keeper},
    contradictions, duplicates,
    facts::{self, FactSettings},
    plan::Planned,
    rules::{self, Outline, Reading, RuleSettings},
};
use hindsight_ports::testkit::samples;
use hindsight_types::{
    Experience, Fact, FactStatus, FactType, Lesson, Memory, MemoryId, MemoryKind, Scope, Stage, Step,
    StepEvaluation, Timestamp, Work,
};
use proptest::prelude::*;

const DAY: i64 = 86_400;
const READING: Reading = Reading {
    purpose: |step| step.action_name.clone(),
    changes: |step| !step.action_name.starts_with("get"),
};

/// What a store holds of these memories.
#[derive(Debug, Clone, Default)]
struct Model {
    runs: BTreeMap<MemoryId, Experience>,
    lessons: BTreeMap<MemoryId, Lesson>,
    facts: BTreeMap<MemoryId, Fact>,
    /// What left, with what speaks for it.
    away: BTreeMap<MemoryId, Option<MemoryId>>,
    reads: BTreeMap<MemoryId, u64>,
}

fn now() -> Timestamp {
    samples::time(400 * DAY)
}

impl Model {
    fn read(&self, id: MemoryId) -> u64 {
        self.reads.get(&id).copied().unwrap_or(0)
    }

    fn lessons(&self) -> Vec<Lesson> {
        self.lessons.values().cloned().collect()
    }

    fn protected(&self) -> archive::Places {
        let mut keeper = Keeper::default();
        self.runs.values().for_each(|run| keeper.see(run));
        keeper.places(&BTreeSet::new(), &ArchiveSettings::default(), now())
    }

    fn condensed(&self) -> Vec<Planned> {
        let outline = |run: &Experience| Outline::of(run, &READING).read(self.read(run.id));
        let runs: Vec<Outline> = self.runs.values().map(outline).collect();
        let merged = self.away.iter().filter_map(|(id, instead)| Some((*id, (*instead)?))).collect();
        let groups = rules::plan(&runs, &self.lessons(), &merged, &RuleSettings::default(), now());
        groups.into_iter().map(Into::into).collect()
    }

    fn merged(&self) -> Vec<Planned> {
        let mut seen = duplicates::Facts::default();
        self.facts.values().for_each(|fact| seen.see(fact, now()));
        duplicates::lessons(&self.lessons()).into_iter().chain(seen.plan()).map(Into::into).collect()
    }

    fn superseded(&self) -> Vec<Planned> {
        let facts: Vec<Fact> = self.facts.values().cloned().collect();
        let lessons = contradictions::lessons(&self.lessons()).superseded;
        contradictions::planned(contradictions::facts(&facts, now()).into_iter().chain(lessons).collect())
    }

    fn archived(&self) -> Vec<Planned> {
        let runs = self.runs.values().map(|run| Memory::Experience(Box::new(run.clone())));
        let all: Vec<Memory> = runs.chain(self.lessons.values().cloned().map(Memory::Lesson)).collect();
        let rows = all.iter().map(|memory| (memory, self.read(memory.id())));
        let tasks = archive::plan(rows, &self.protected(), &ArchiveSettings::default(), now());
        tasks.into_iter().map(Into::into).collect()
    }

    fn ended(&self) -> Vec<Planned> {
        let facts: Vec<Fact> = self.facts.values().cloned().collect();
        facts::plan(&facts, &FactSettings::default(), now()).into_iter().map(Into::into).collect()
    }

    /// Every policy once, as they follow each other in a night. Says how much was done.
    fn night(&mut self) -> usize {
        let policies = [Self::superseded, Self::condensed, Self::merged, Self::archived, Self::ended];
        let mut done = 0;
        for plan in policies {
            let planned = plan(self);
            done += planned.len();
            planned.into_iter().for_each(|planned| self.carry_out(planned.work));
            assert_eq!(plan(self), [], "a policy plans nothing new after it was carried out");
        }
        done
    }

    fn carry_out(&mut self, work: Work) {
        match work {
            Work::Condense { sources } => {
                let runs: Vec<Experience> = sources.iter().map(|id| self.runs[id].clone()).collect();
                let made = rules::condense(&runs, &self.lessons(), 3, &READING, now()).unwrap();
                assert!(runs.iter().all(|run| run.trajectory.scope == made.lesson.scope));
                let known = self.lessons.entry(made.lesson.id).or_insert_with(|| made.lesson.clone());
                let sources: BTreeSet<_> =
                    known.sources.iter().chain(&made.lesson.sources).cloned().collect();
                known.sources = sources.into_iter().collect();
                known.last_supported_at = known.last_supported_at.max(made.lesson.last_supported_at);
                self.away.remove(&made.lesson.id);
            }
            Work::Merge { kind: MemoryKind::Lesson, keep, duplicates } => {
                for id in duplicates {
                    let other = self.lessons.remove(&id).unwrap();
                    let keeps = self.lessons.get_mut(&keep).unwrap();
                    assert_eq!(other.scope, keeps.scope);
                    let sources: BTreeSet<_> = keeps.sources.iter().chain(&other.sources).cloned().collect();
                    keeps.sources = sources.into_iter().collect();
                    keeps.last_supported_at = keeps.last_supported_at.max(other.last_supported_at);
                    self.away.insert(id, Some(keep));
                }
            }
            Work::Merge { kind: MemoryKind::Fact, keep: newer, duplicates: older }
            | Work::Supersede { kind: MemoryKind::Fact, newer, older } => {
                for id in older {
                    assert_eq!(self.facts[&id].scope, self.facts[&newer].scope);
                    let fact = self.facts.get_mut(&id).unwrap();
                    fact.set_status(FactStatus::Obsolete, now());
                    fact.retained_at = now();
                }
            }
            Work::Supersede { older, .. } => {
                older.iter().for_each(|id| self.lessons.get_mut(id).unwrap().stage = Stage::Retired);
            }
            Work::Archive { kind, memories, .. } => {
                let protected = self.protected();
                for id in memories {
                    assert!(!protected.memories.contains(&id) && self.read(id) == 0);
                    match kind {
                        MemoryKind::Experience => drop(self.runs.remove(&id).unwrap()),
                        _ => drop(self.lessons.remove(&id).unwrap()),
                    }
                    self.away.insert(id, None);
                }
            }
            Work::ExpireFacts { facts } => {
                facts.iter().for_each(|id| drop(self.facts.remove(id).unwrap()));
            }
            other => panic!("no policy here plans {other:?}"),
        }
    }
}

fn scope(user: &str) -> Scope {
    samples::private(&samples::tenant("acme"), user)
}

fn run(n: usize, user: &str, goal: &str, fix: &str, service: &str, ended: i64) -> Experience {
    let trace = samples::trace(&format!("t-{n}"));
    let Memory::Experience(sample) = samples::experience(&scope(user), &trace, ended * DAY) else {
        unreachable!()
    };
    let mut run = *sample;
    let verdict = run.evaluation.steps[0].clone();
    let call = |at: u32, tool: &str| Step {
        action_name: tool.to_owned(),
        action_detail: format!("{{\"name\":\"{service}\"}}"),
        ..samples::step(at)
    };
    run.trajectory.task_description = goal.replace("NAME", &format!("{service}-{n}f"));
    run.trajectory.steps = vec![call(0, "get_logs"), call(1, fix)];
    run.evaluation.steps = (0..2).map(|at| StepEvaluation { step_index: at, ..verdict.clone() }).collect();
    run
}

fn runs() -> impl Strategy<Value = Vec<Experience>> {
    let goal = prop_oneof![
        Just("Repair the container NAME that restarts over and over"),
        Just("Please repair container NAME, it restarts over and over again"),
        Just("清理主机 NAME 的磁盘空间"),
    ];
    let one = ("(ann|bob)", goal, "(restart|set_limit)", "(api|web)", 0_i64..400);
    proptest::collection::vec(one, 0..24).prop_map(|all| {
        let numbered = all.into_iter().enumerate();
        numbered
            .map(|(n, (user, goal, fix, service, ended))| run(n, &user, goal, &fix, &service, ended))
            .collect()
    })
}

fn lessons() -> impl Strategy<Value = Vec<Lesson>> {
    let seen =
        prop_oneof![Just("the api container is out of memory"), Just("The API container is out of memory.")];
    let chosen = prop_oneof![
        Just("restart(api)"),
        Just("get_logs(name=api), then restart(name=api)"),
        Just("get_logs(name=<name>), then set_limit(name=<name>)"),
    ];
    let one = ("(ann|bob)", seen, chosen, "(restart\\(api\\))?", 0_u32..5, 0_u32..5, 0_i64..400);
    proptest::collection::vec(one, 0..10).prop_map(|all| {
        let lesson = |(n, (user, seen, chosen, rejected, supported, refuted, day)): (
            usize,
            (String, _, &str, String, _, _, i64),
        )| {
            let (key, seen): (String, &str) = (format!("k-{n}"), seen);
            let mut lesson = samples::lesson(&scope(&user), &key, &[&key], day * DAY);
            (lesson.situation, lesson.basis.chosen) = (seen.to_owned(), chosen.to_owned());
            lesson.basis.rejected = Some(rejected).filter(|r| !r.is_empty()).into_iter().collect();
            (lesson.supported, lesson.refuted) = (supported, refuted);
            lesson
        };
        all.into_iter().enumerate().map(lesson).collect()
    })
}

fn told() -> impl Strategy<Value = Vec<Fact>> {
    let said = prop_oneof![
        Just("I live in Shanghai"),
        Just("i live in Shanghai."),
        Just("I no longer live in Shanghai"),
        Just("我不吃花生"),
        Just("我吃花生"),
    ];
    let one = ("(ann|bob)", said, 0_i64..400, proptest::option::of(300_i64..500), 0_u8..3);
    proptest::collection::vec(one, 0..12).prop_map(|all| {
        let fact = |(n, (user, said, day, ends, status)): (usize, (String, &str, i64, Option<i64>, u8))| {
            let mut fact = samples::fact(&samples::tenant("acme"), &user, &format!("f-{n}"), day * DAY);
            (fact.content, fact.fact_type) = (said.to_owned(), FactType::Preference);
            (fact.entities, fact.intent) = (Vec::new(), String::new());
            fact.expires_at = ends.map(|day| samples::time(day * DAY));
            fact.set_status(FactStatus::ALL[usize::from(status)], samples::time(day * DAY));
            fact
        };
        all.into_iter().enumerate().map(fact).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_was_done_is_not_done_again(
        runs in runs(), lessons in lessons(), told in told(), reads in proptest::collection::vec(0_u64..4, 24),
    ) {
        let mut model = Model {
            reads: runs.iter().map(|run| run.id).zip(reads).collect(),
            runs: runs.into_iter().map(|run| (run.id, run)).collect(),
            lessons: lessons.into_iter().map(|lesson| (lesson.id, lesson)).collect(),
            facts: told.into_iter().map(|fact| (fact.id, fact)).collect(),
            ..Model::default()
        };
        let protected = model.protected();
        // What one policy did may be what another has to look at the next night; then everything is done.
        model.night();
        model.night();
        prop_assert_eq!(model.night(), 0);
        prop_assert!(protected.memories.iter().all(|id| model.runs.contains_key(id)));
        prop_assert!(model.away.keys().all(|id| !model.lessons.contains_key(id) && !model.runs.contains_key(id)));
    }
}
