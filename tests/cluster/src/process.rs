use std::{
    fs::{File, OpenOptions},
    path::PathBuf,
    process::{ExitStatus, Stdio},
};

use hindsight_e2e::LIMIT;
use tokio::process::{Child, Command};

/// A program that is started, signalled and started again with the same arguments. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Not started yet. What it says on standard error is kept in `log`, over all its starts.
    pub fn new(program: PathBuf, args: Vec<String>, env: Vec<(String, String)>, log: PathBuf) -> Self {
        Self { program, args, env, log, child: None }
    }

    /// # Panics
    /// When it runs already, or cannot be started.
    pub fn start(&mut self) {
        assert!(self.child.is_none(), "{} runs", self.program.display());
        let log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .unwrap_or_else(|e| panic!("{}: {e}", self.log.display()));
        let inherited = std::env::vars().filter(|(k, _)| !k.starts_with("HINDSIGHT"));
        let child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(inherited)
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn();
        self.child = Some(child.unwrap_or_else(|e| panic!("{}: {e}", self.program.display())));
    }

    pub fn start_with(&mut self, args: Vec<String>) {
        self.args = args;
        self.start();
    }

    /// SIGKILL, and waits until it is gone.
    pub async fn kill(&mut self) {
        let mut child =
            self.child.take().unwrap_or_else(|| panic!("{} does not run", self.program.display()));
        child.kill().await.unwrap_or_else(|e| panic!("kill: {e}"));
    }

    /// SIGTERM, and waits until it has ended by itself.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        let mut child =
            self.child.take().unwrap_or_else(|| panic!("{} does not run", self.program.display()));
        let exit = tokio::time::timeout(LIMIT, child.wait()).await;
        exit.unwrap_or_else(|_| panic!("it does not end:\n{}", self.log())).unwrap_or_else(|e| panic!("{e}"))
    }

    /// SIGSTOP: it holds what it holds and does nothing.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    fn signal(&self, name: &str) {
        let pid = self.child.as_ref().and_then(Child::id).unwrap_or_else(|| panic!("it does not run"));
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
        assert!(sent.is_ok_and(|s| s.success()), "kill -{name} {pid}");
    }

    /// What it ended with, if it ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
