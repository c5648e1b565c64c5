//! Runs the built binary on a data directory of its own.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Nothing here takes longer, on a busy machine either.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn examples() -> PathBuf {
    Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../../examples/runs")
}

/// A data directory with what a test leaves in it.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Where servers write what they do.
    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("serve.log")
    }

    /// A file beside the data directory.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hindsight"));
        let inherited = std::env::vars().map(|(k, _)| k).filter(|k| k.starts_with("HINDSIGHT"));
        inherited.for_each(|k| {
            command.env_remove(k);
        });
        command.args(args).env("HINDSIGHT_DATA_DIR", self.data()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran(self.command(args).output().unwrap())
    }

    /// The JSON that a command prints, which must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.stderr());
        assert!(!ran.stderr().contains("ERROR"), "{args:?} went wrong in the end: {}", ran.stderr());
        ran.json()
    }

    /// Serves the data directory until dropped.
    pub(crate) fn serve(&self, args: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", args)
    }

    /// As [`Home::serve`], at an address of its own.
    pub(crate) fn serve_at(&self, listen: &str, args: &[&str]) -> Server {
        let args = [&["serve", "--listen", listen], args].concat();
        let log = std::fs::File::options().create(true).append(true).open(self.log()).unwrap();
        let child = self.command(&args).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut server = Server { child, data: self.data() };
        let pid = u64::from(server.child.id());
        until("the server says where it is", || {
            assert!(server.child.try_wait().unwrap().is_none(), "the server ended");
            server.announced().is_some_and(|s| s["pid"].as_u64() == Some(pid))
        });
        server
    }
}

pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout()))
    }
}

pub(crate) struct Server {
    child: Child,
    data: PathBuf,
}

impl Server {
    pub(crate) fn announced(&self) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.data.join("serve.json")).ok()?).ok()
    }

    pub(crate) fn address(&self) -> String {
        self.announced().unwrap()["address"].as_str().unwrap().to_owned()
    }

    /// Asks it to stop; its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut code = None;
        until("the server stops", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Names of the runs among the items of a recall, best first.
pub(crate) fn recalled(response: &Value) -> Vec<&str> {
    let items = response["items"].as_array().unwrap();
    let name = |i| Value::pointer(i, "/memory/experience/trajectory/trace_id").and_then(Value::as_str);
    items.iter().filter_map(name).collect()
}
