//! The place of one task while somebody works in it: what each call prints, and what it changes.

use rand::{SeedableRng as _, rngs::StdRng};

use super::task::Task;

/// What a call printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Broken,
    Repaired,
    /// What should be saved is gone; nothing brings it back.
    Ruined,
}

#[derive(Debug)]
pub(crate) struct Scene<'a> {
    task: &'a Task,
    state: State,
    calls: usize,
    rng: StdRng,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(task: &'a Task) -> Self {
        Self { task, state: State::Broken, calls: 0, rng: StdRng::seed_from_u64(task.seed) }
    }

    pub(crate) fn is_ruined(&self) -> bool {
        self.state == State::Ruined
    }

    /// Runs a command of the catalogue.
    pub(crate) fn call(&mut self, command: &str) -> Output {
        let number = self.calls;
        self.calls += 1;
        if self.task.one_off == Some(number) {
            return self.print("Error: context deadline exceeded (request timed out after 30s)", true);
        }
        let (fault, practice) = (self.task.fault, self.task.fault.practice());
        if command == practice.status.command {
            return match self.state {
                State::Repaired => self.print(practice.status.fine, false),
                State::Broken => self.print(practice.status.trouble, false),
                State::Ruined => self.print("error: no such object, data not found", true),
            };
        }
        if let Some(at) = practice.checks.iter().position(|check| check.command == command) {
            let check = &practice.checks[at];
            let finds = at == fault.cause && self.state == State::Broken;
            return self.print(if finds { check.trouble } else { check.fine }, false);
        }
        if command == practice.ruinous {
            self.state = State::Ruined;
            return self.print("done, {many} objects removed", false);
        }
        if !practice.fixes.contains(&command) {
            return self.print("bash: command not found", true);
        }
        if command == fault.fix(self.task.drifted) && self.state == State::Broken {
            self.state = State::Repaired;
        }
        self.print(answer(command), false)
    }

    fn print(&mut self, text: &str, failed: bool) -> Output {
        Output { text: self.task.names.fill_anew(text, &mut self.rng), failed }
    }
}

/// What a tool says when it did as it was told, whether that helps or not.
fn answer(command: &str) -> &'static str {
    let tools = [
        ("kubectl", "deployment.apps/{svc} configured"),
        ("docker compose", "Container {svc}-1 Started"),
        ("docker image", "Total reclaimed space: {sec}.{few}MB"),
        ("docker", "{svc}"),
        ("psql", "COMMAND OK, time: {sec} ms"),
        ("patronictl", "Successfully failed over to {dbh}-2"),
        ("vault", "version {few}, created at {hh}:{mm}"),
        ("aws", "ModificationState modifying, TargetSize {many}"),
        ("./deploy.sh", "rolled {svc} back to the release before {ver}"),
    ];
    tools.iter().find(|(tool, _)| command.starts_with(tool)).map_or("ok ({hh}:{mm})", |(_, said)| said)
}
