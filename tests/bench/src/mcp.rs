//! What the MCP proxy adds to the round trip of a call, beside a server without it, in turns within one run.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::report::Report;

/// Calls before the clock runs.
const WARM: usize = 200;
const MODES: [&str; 3] = ["observe", "annotate", "confirm"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Calls in each mode.
    #[arg(long, default_value_t = 2000)]
    calls: usize,
    /// Bytes of arguments, and of the result.
    #[arg(long, default_value_t = 512)]
    bytes: usize,
    /// Pause between two calls. An agent makes a longer one; without, the recording of the calls before is measured,
    /// too.
    #[arg(long, default_value_t = 10)]
    pause_ms: u64,
}

/// Measures the `hindsight` that `HINDSIGHT_BIN` names, else the one beside this program.
pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let own = std::env::current_exe()?;
    let data = tempfile::tempdir()?;
    let hindsight = hindsight_e2e::Server::start(data.path(), &[]).await;
    tokio::task::block_in_place(|| measure(args, &own, hindsight.url(), report))
}

fn measure(args: &Args, own: &Path, server: &str, report: &mut Report) -> anyhow::Result<()> {
    for mode in MODES {
        let mut direct = Server::start(Command::new(own).arg("mcp-echo"))?;
        let mut proxied = Server::start(
            Command::new(hindsight_e2e::program("hindsight"))
                .args(["mcp-proxy", "--mode", mode, "--server", server, "--"])
                .arg(own)
                .arg("mcp-echo"),
        )?;
        let (mut alone, mut between) = (Vec::new(), Vec::new());
        for n in 0..WARM + args.calls {
            let line = call(n, args.bytes);
            // Whichever is asked first after the pause finds the cores asleep.
            let (a, b) = if n % 2 == 0 {
                let a = direct.ask(&line)?;
                (a, proxied.ask(&line)?)
            } else {
                let b = proxied.ask(&line)?;
                (direct.ask(&line)?, b)
            };
            ensure!(a.0 == b.0, "{mode}: the proxy changed an answer: {} for {}", b.0, a.0);
            if n >= WARM {
                alone.push(a.1);
                between.push(b.1);
            }
            std::thread::sleep(Duration::from_millis(args.pause_ms));
        }
        direct.end()?;
        proxied.end()?;
        alone.sort_unstable();
        between.sort_unstable();
        report.add(format!("{mode}: messages passed unchanged"), (2 * (WARM + args.calls)) as f64, "");
        for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
            let (direct, proxied) = (at(&alone, part), at(&between, part));
            report.add(format!("{mode}: {name} direct"), micros(direct), "µs");
            report.add(format!("{mode}: {name} through the proxy"), micros(proxied), "µs");
            report.add(format!("{mode}: {name} added"), micros(proxied) - micros(direct), "µs");
        }
    }
    Ok(())
}

/// A server that gives back what it gets, in the form of a tool.
pub(crate) fn echo() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]});
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn call(n: usize, bytes: usize) -> String {
    let arguments = json!({"text": "x".repeat(bytes), "n": n});
    let call = json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "echo", "arguments": arguments}});
    format!("{call}\n")
}

fn at(sorted: &[Duration], part: f64) -> Duration {
    let place = (sorted.len() as f64 * part) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

struct Server {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Server {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (to, from) = (child.stdin.take().context("no input")?, child.stdout.take().context("no output")?);
        Ok(Self { child, to, from: BufReader::new(from) })
    }

    fn ask(&mut self, line: &str) -> anyhow::Result<(String, Duration)> {
        let begun = Instant::now();
        self.to.write_all(line.as_bytes())?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        Ok((answer, begun.elapsed()))
    }

    fn end(mut self) -> anyhow::Result<()> {
        drop(self.to);
        ensure!(self.child.wait()?.success(), "a server did not end well");
        Ok(())
    }
}
