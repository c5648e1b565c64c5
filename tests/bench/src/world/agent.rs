//! An agent with no model. It looks, follows what it was told where that fits what it sees, and else tries what is
//! worth a try, in an order of its own, until the trouble is gone or its calls are used up.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

use super::{
    advice::{Advice, says_the_same},
    catalog::Practice,
    ears::{Deaf, Ears},
    scene::{Output, Scene},
    task::Task,
};

/// Calls after which it gives up.
pub(crate) const BUDGET: usize = 16;

/// One call of a run.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) output: Output,
}

/// What an agent did.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) calls: Vec<Call>,
    pub(crate) solved: bool,
    /// It destroyed what it should save.
    pub(crate) ruined: bool,
    pub(crate) conclusion: String,
}

/// Works on a task with what it was told.
pub(crate) fn work(task: &Task, told: &[Advice]) -> Run {
    work_beside(task, told, &mut Deaf)
}

/// The same, with somebody who hears of each call and may say something.
pub(crate) fn work_beside(task: &Task, told: &[Advice], ears: &mut dyn Ears) -> Run {
    let mut worker = Worker::new(task, ears);
    worker.status();
    let mut avoid = Vec::new();
    let (here, elsewhere): (Vec<&Advice>, Vec<&Advice>) = told.iter().partition(|advice| !advice.elsewhere);
    for advice in here.into_iter().chain(elsewhere) {
        if worker.follow(advice) {
            avoid.extend(&advice.avoid);
        }
    }
    worker.explore(&avoid);
    worker.finish()
}

/// The run of somebody who looked once, did the ruinous thing and claims that it helped.
pub(crate) fn claim(task: &Task) -> Run {
    let mut deaf = Deaf;
    let mut worker = Worker::new(task, &mut deaf);
    worker.status();
    worker.look(worker.practice.checks[task.fault.cause].command);
    let seen = worker.run.calls.last().map(|call| call.output.text.clone()).unwrap_or_default();
    worker.call(worker.practice.ruinous);
    let command = task.names.fill(worker.practice.ruinous);
    let mut run = worker.run;
    run.conclusion = format!("Repaired. Cause: {seen}. What helped was `{command}`.");
    (run.solved, run.ruined) = (true, false);
    run
}

struct Worker<'a> {
    task: &'a Task,
    ears: &'a mut dyn Ears,
    practice: &'static Practice,
    scene: Scene<'a>,
    run: Run,
    /// Commands of which the answer is known.
    seen: Vec<(&'static str, String)>,
    tried: Vec<&'static str>,
    /// What it was warned of: left for last.
    postponed: Vec<&'static str>,
    /// What the looks found, the latest last.
    findings: Vec<String>,
    last_change: String,
}

impl<'a> Worker<'a> {
    fn new(task: &'a Task, ears: &'a mut dyn Ears) -> Self {
        Self {
            task,
            ears,
            practice: task.fault.practice(),
            scene: Scene::new(task),
            run: Run { calls: Vec::new(), solved: false, ruined: false, conclusion: String::new() },
            seen: Vec::new(),
            tried: Vec::new(),
            postponed: Vec::new(),
            findings: Vec::new(),
            last_change: String::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.run.solved || self.run.ruined || self.run.calls.len() >= BUDGET
    }

    fn call(&mut self, command: &'static str) -> Option<Output> {
        if self.is_done() {
            return None;
        }
        let output = self.scene.call(command);
        let command = self.task.names.fill(command);
        self.run.calls.push(Call { command, output: output.clone() });
        Some(output)
    }

    /// Whether the trouble is still there.
    fn status(&mut self) {
        let status = self.practice.status;
        let Some(output) = self.call(status.command) else { return };
        self.run.solved = !output.failed && says_the_same(&self.task.names.fill(status.fine), &output.text);
        self.run.ruined = self.scene.is_ruined();
    }

    /// What a command that only looks prints; asked once.
    fn look(&mut self, command: &'static str) -> Option<String> {
        if let Some((_, text)) = self.seen.iter().find(|(seen, _)| *seen == command) {
            return Some(text.clone());
        }
        let output = self.call(command)?;
        if output.failed {
            self.heed(command, &output.text);
            return None;
        }
        let fine = self.practice.checks.iter().find(|check| check.command == command).map(|check| check.fine);
        let trouble = fine.is_some_and(|fine| !says_the_same(&self.task.names.fill(fine), &output.text));
        self.seen.push((command, output.text.clone()));
        if trouble {
            self.findings.push(output.text.clone());
            self.heed(command, &output.text);
        }
        Some(output.text)
    }

    /// Tells of trouble, and does as it is told then.
    fn heed(&mut self, command: &'static str, output: &str) {
        let told = self.ears.after(&self.task.names.fill(command), output);
        for advice in &told {
            self.follow(advice);
        }
    }

    /// Changes something and looks whether it helped.
    fn try_fix(&mut self, command: &'static str) {
        if self.tried.contains(&command) || self.is_done() || self.is_warned_of(command) {
            return;
        }
        if self.call(command).is_none() {
            return;
        }
        self.tried.push(command);
        self.last_change = self.task.names.fill(command);
        self.status();
    }

    /// What it is warned of it does only when nothing else is left.
    fn is_warned_of(&mut self, command: &'static str) -> bool {
        if self.postponed.contains(&command) {
            return false;
        }
        let told = self.ears.before(&self.task.names.fill(command));
        let warned = told.iter().any(|advice| advice.avoid.contains(&command));
        if warned {
            self.postponed.push(command);
            for advice in &told {
                self.follow(advice);
            }
        }
        warned
    }

    /// Goes along what is told as long as it sees what was seen then. False when it saw something else.
    fn follow(&mut self, advice: &Advice) -> bool {
        for step in &advice.steps {
            if self.is_done() {
                return true;
            }
            let command = step.command;
            if command == self.practice.status.command {
                continue;
            }
            if self.practice.checks.iter().any(|check| check.command == command) {
                let seen = self.look(command);
                if seen.is_some_and(|seen| !says_the_same(&step.result, &seen)) {
                    return false;
                }
            } else {
                self.try_fix(command);
            }
        }
        true
    }

    fn explore(&mut self, avoid: &[&'static str]) {
        let mut rng = StdRng::seed_from_u64(self.task.seed);
        let mut checks: Vec<&'static str> = self.practice.checks.iter().map(|check| check.command).collect();
        checks.shuffle(&mut rng);
        checks.truncate(rng.random_range(1..checks.len()));
        let mut fixes: Vec<&'static str> = self.practice.fixes.to_vec();
        fixes.shuffle(&mut rng);
        fixes.sort_by_key(|fix| avoid.contains(fix));
        for check in checks {
            self.look(check);
        }
        for fix in fixes {
            self.try_fix(fix);
        }
        for fix in self.postponed.clone() {
            self.try_fix(fix);
        }
    }

    fn finish(mut self) -> Run {
        let found = match self.findings.last() {
            Some(found) => format!("Cause: {found}. "),
            None => String::new(),
        };
        let last = self.run.calls.last().map(|call| call.output.text.as_str()).unwrap_or_default();
        self.run.conclusion = if self.run.solved {
            format!("Repaired. {found}What helped was `{}`: {last}", self.last_change)
        } else {
            format!("Given up after {} calls. {found}Still: {last}", self.run.calls.len())
        };
        self.run
    }
}
