use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use hindsight_api::KeyHash;
use tokio::process::{Child, Command};
use tonic::transport::Channel;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::until;

/// An API key with what it may do.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub secret: &'static str,
    pub tenant: &'static str,
    /// As in the configuration: `["read", "write"]`.
    pub permissions: &'static str,
}

/// The setting that lets exactly these keys in.
pub fn keys(keys: &[Key]) -> (String, String) {
    let each = keys.iter().enumerate().map(|(i, k)| {
        let (hash, tenant, permissions) = (KeyHash::of(k.secret), k.tenant, k.permissions);
        format!(
            "{{ name = \"k{i}\", hash = \"{hash}\", tenant = \"{tenant}\", permissions = {permissions} }}"
        )
    });
    ("HINDSIGHT__AUTH__KEYS".to_owned(), format!("[{}]", each.collect::<Vec<_>>().join(", ")))
}

/// A running `hindsight serve`. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Serves `dir` on a free port of this machine, and waits until every role is ready.
    ///
    /// # Panics
    /// When it ends instead, with its log.
    pub async fn start(dir: &Path, env: &[(String, String)]) -> Self {
        let server = Self::launch(dir, env).await;
        let mut health = HealthClient::new(server.channel().await);
        until("all roles ready", async || {
            let answer = health.check(HealthCheckRequest::default()).await.map_err(|e| e.to_string())?;
            let status = answer.into_inner().status();
            if status == ServingStatus::Serving { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await;
        server
    }

    /// Serves `dir`, and waits only until it listens.
    pub async fn launch(dir: &Path, env: &[(String, String)]) -> Self {
        let mut child = spawn(dir, "127.0.0.1:0", env);
        let url = until("the address it serves at", async || {
            let log = log(dir);
            let exit = child.try_wait().map_err(|e| e.to_string())?;
            assert!(exit.is_none(), "hindsight serve ended with {exit:?}:\n{log}");
            let line = log.lines().find(|l| l.starts_with("serving ")).ok_or(log.clone())?;
            line.split(" at ").last().map(str::to_owned).ok_or(log.clone())
        })
        .await;
        Self { child, url }
    }

    /// Runs `hindsight serve` at an address it should refuse; how it ended and what it said.
    pub async fn refused(dir: &Path, listen: &str, env: &[(String, String)]) -> (ExitStatus, String) {
        let mut child = spawn(dir, listen, env);
        let exit = tokio::time::timeout(crate::LIMIT, child.wait()).await;
        let exit = exit.unwrap_or_else(|_| panic!("it serves at {listen}:\n{}", log(dir)));
        (exit.unwrap_or_else(|e| panic!("{e}")), log(dir))
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(self.url.clone()).unwrap_or_else(|e| panic!("{e}"));
        until("a connection", async || endpoint.connect().await.map_err(|e| format!("{e:?}"))).await
    }

    /// SIGKILL, and waits until it is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap_or_else(|e| panic!("kill: {e}"));
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        let pid = self.child.id().unwrap_or_else(|| panic!("it ended by itself"));
        let sent = std::process::Command::new("sh").args(["-c", &format!("kill -TERM {pid}")]).status();
        assert!(sent.is_ok_and(|s| s.success()), "kill -TERM {pid}");
    }

    pub async fn exit(mut self) -> ExitStatus {
        let exit = tokio::time::timeout(crate::LIMIT, self.child.wait()).await;
        exit.unwrap_or_else(|_| panic!("it does not end")).unwrap_or_else(|e| panic!("{e}"))
    }
}

fn spawn(dir: &Path, listen: &str, env: &[(String, String)]) -> Child {
    let log = File::create(dir.join("serve.log")).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let inherited = std::env::vars().filter(|(k, _)| !k.starts_with("HINDSIGHT"));
    Command::new(program("hindsight"))
        .args(["serve", "--listen", listen, "--data-dir"])
        .arg(dir.join("data"))
        .env_clear()
        .envs(inherited)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|e| panic!("hindsight: {e}"))
}

fn log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("serve.log")).unwrap_or_default()
}

/// A binary under test: beside the one that `HINDSIGHT_BIN` names, else beside the program that asks.
pub fn program(name: &str) -> PathBuf {
    let asking = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
    let candidates: Vec<PathBuf> = match std::env::var_os("HINDSIGHT_BIN") {
        Some(named) => vec![PathBuf::from(named).with_file_name(name)],
        // Tests are in a folder of the one with the binaries.
        None => asking.ancestors().skip(1).take(2).map(|dir| dir.join(name)).collect(),
    };
    let found = candidates.into_iter().find(|program| program.exists());
    found.unwrap_or_else(|| panic!("no {name}; run `cargo build --workspace` or set HINDSIGHT_BIN"))
}
