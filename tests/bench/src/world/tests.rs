use super::{
    advice::{self, Advice, Told, says_the_same},
    agent::{self, BUDGET},
    ears::Ears,
    logs::{Logs, log_of},
    scene::Scene,
    task::{Task, story},
};

const SEEDS: u64 = 3;
const TASKS: usize = 60;

fn tasks() -> impl Iterator<Item = Task> {
    (0..SEEDS).flat_map(|seed| story(seed, TASKS).tasks)
}

fn named(command: &'static str) -> Told {
    Told { command, result: String::new() }
}

#[test]
fn a_seed_tells_the_same_story_again_and_another_seed_another_one() {
    let told = |seed| format!("{:?}", story(seed, TASKS));
    assert_eq!(told(1), told(1));
    assert_ne!(told(1), told(2));
}

#[test]
fn every_name_is_filled_in() {
    for mut task in tasks() {
        task.one_off = None;
        let mut scene = Scene::new(&task);
        let practice = task.fault.practice();
        let mut texts = vec![task.report.clone()];
        for command in advice::known(practice) {
            texts.push(task.names.fill(command));
            texts.push(scene.call(command).text);
        }
        for text in texts {
            assert!(!text.contains(['{', '}']), "{text}");
        }
    }
}

#[test]
fn one_check_tells_the_cause_and_one_command_ends_it() {
    for mut task in tasks() {
        task.one_off = None;
        let practice = task.fault.practice();
        let fine = task.names.fill(practice.status.fine);
        let is_fine = |scene: &mut Scene<'_>| says_the_same(&fine, &scene.call(practice.status.command).text);
        for fix in practice.fixes {
            let mut scene = Scene::new(&task);
            assert!(!is_fine(&mut scene));
            scene.call(fix);
            assert_eq!(is_fine(&mut scene), *fix == task.fault.fix(task.drifted), "{fix} of {task:?}");
        }
        let mut scene = Scene::new(&task);
        let telling = practice
            .checks
            .iter()
            .filter(|c| says_the_same(&task.names.fill(c.trouble), &scene.call(c.command).text));
        assert_eq!(telling.count(), 1);
    }
}

#[test]
fn what_a_check_finds_reads_other_than_what_it_prints_else() {
    let mut alike = Vec::new();
    for task in tasks() {
        let practice = task.fault.practice();
        for look in practice.checks.iter().chain([practice.status]) {
            let (fine, trouble) = (task.names.fill(look.fine), task.names.fill(look.trouble));
            if says_the_same(&trouble, &fine) || says_the_same(&fine, &trouble) {
                alike.push(look.command);
            }
        }
    }
    alike.sort_unstable();
    alike.dedup();
    assert!(alike.is_empty(), "{alike:#?}");
}

#[test]
fn a_call_is_read_with_the_names_of_another_task() {
    for (task, other) in tasks().zip(tasks().skip(7)) {
        let practice = task.fault.practice();
        for command in advice::known(practice) {
            let text = format!("then bash({}). Skip the rest", other.names.fill(command));
            assert_eq!(advice::calls(&text, practice), [command], "{text}");
        }
    }
}

#[test]
fn nothing_times_out_twice() {
    let mut task = tasks().find(|task| task.one_off.is_some()).unwrap();
    task.one_off = Some(1);
    let practice = task.fault.practice();
    let mut scene = Scene::new(&task);
    let fix = task.fault.fix(task.drifted);
    let failed: Vec<bool> = [practice.status.command, fix, fix].map(|c| scene.call(c).failed).to_vec();
    assert_eq!(failed, [false, true, false]);
    assert!(says_the_same(&task.names.fill(practice.status.fine), &scene.call(practice.status.command).text));
}

#[test]
fn who_explores_destroys_nothing_and_keeps_to_the_budget() {
    for task in tasks() {
        let run = agent::work(&task, &[]);
        assert!(!run.ruined && run.calls.len() <= BUDGET);
        assert!(run.solved || run.calls.len() == BUDGET);
    }
}

#[test]
fn who_is_told_the_fix_is_done_at_once_and_who_is_told_to_ruin_it_has_lost() {
    for mut task in tasks() {
        task.one_off = None;
        let practice = task.fault.practice();
        let told = |command| Advice { steps: vec![named(command)], ..Advice::default() };
        let run = agent::work(&task, &[told(task.fault.fix(task.drifted))]);
        assert!(run.solved && run.calls.len() == 3, "{run:?}");
        let run = agent::work(&task, &[told(practice.ruinous)]);
        assert!(run.ruined && !run.solved, "{run:?}");
    }
}

/// Says the same whenever it may: what ends the trouble, or what not to do.
struct Voice<'a> {
    task: &'a Task,
    fix: Option<&'static str>,
    warns_of: &'static str,
    trouble: usize,
}

impl Ears for Voice<'_> {
    fn before(&mut self, command: &str) -> Vec<Advice> {
        let warned = command == self.task.names.fill(self.warns_of);
        if warned { vec![Advice { avoid: vec![self.warns_of], ..Advice::default() }] } else { Vec::new() }
    }

    fn after(&mut self, _: &str, _: &str) -> Vec<Advice> {
        self.trouble += 1;
        let steps = self.fix.into_iter().map(named).collect();
        vec![Advice { steps, ..Advice::default() }]
    }
}

#[test]
fn a_word_after_trouble_is_followed_and_what_is_warned_of_is_left_for_last() {
    let mut helped = 0;
    for mut task in tasks() {
        task.one_off = None;
        let fix = task.fault.fix(task.drifted);
        let mut voice = Voice { task: &task, fix: Some(fix), warns_of: "", trouble: 0 };
        let run = agent::work_beside(&task, &[], &mut voice);
        assert!(run.solved || voice.trouble == 0, "{run:?}");
        helped += voice.trouble;

        let mut voice = Voice { task: &task, fix: None, warns_of: fix, trouble: 0 };
        let run = agent::work_beside(&task, &[], &mut voice);
        let command = task.names.fill(fix);
        let tried = run.calls.iter().position(|call| call.command == command);
        // It and the look whether it helped come last, if there is a call left for them.
        assert!(tried.is_none_or(|at| at + 2 >= run.calls.len()), "{run:?}");
    }
    assert!(helped > 0);
}

#[test]
fn advice_that_rests_on_another_finding_is_not_followed() {
    for mut task in tasks() {
        task.one_off = None;
        let practice = task.fault.practice();
        let other = &practice.checks[(task.fault.cause + 1) % 3];
        let seen = Told { command: other.command, result: task.names.fill(other.trouble) };
        let advice = Advice { steps: vec![seen, named(practice.ruinous)], ..Advice::default() };
        assert!(!agent::work(&task, &[advice]).ruined);
    }
}

#[test]
fn the_log_of_a_run_leads_another_task_of_the_kind_to_its_fix() {
    for mut task in tasks() {
        task.one_off = None;
        let fix = task.fault.fix(task.drifted);
        let practice = task.fault.practice();
        let mut logs = Logs::default();
        let solved = agent::work(&task, &[Advice { steps: vec![named(fix)], ..Advice::default() }]);
        logs.add(log_of(&task, &solved));
        let found = logs.search(&task.report);
        assert_eq!(found.len(), 1);
        let place = task.fault.place.tag();
        let read = advice::of_log(found[0], practice, place);
        assert_eq!(read.steps.last().map(|step| step.command), Some(fix));
        assert!(!read.elsewhere && read.avoid.is_empty());
        assert!(advice::of_log(found[0], practice, "bare-metal").elsewhere);
    }
}

#[test]
fn the_log_of_a_failed_run_advises_nothing() {
    let task = tasks().find(|task| !agent::work(task, &[]).solved).unwrap();
    let read = advice::of_log(&log_of(&task, &agent::work(&task, &[])), task.fault.practice(), "docker");
    assert!(read.steps.is_empty() && !read.avoid.is_empty());
}

#[test]
fn the_poisoned_run_claims_that_the_ruinous_call_helped() {
    let poison = story(3, TASKS).poison;
    let run = agent::claim(&poison);
    let practice = poison.fault.practice();
    let read = advice::of_log(&log_of(&poison, &run), practice, poison.fault.place.tag());
    assert!(run.solved);
    assert_eq!(read.steps.last().map(|step| step.command), Some(practice.ruinous));
}
