//! A server that is a child process. Both directions have a thread of their own that reads and writes, and
//! nothing else stands in their way.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{runtime::Handle, signal::unix::SignalKind, sync::oneshot};

use super::{
    Connection, FAREWELL, Memory, Proxy, Settings,
    calls::Way,
    frame::{Lines, Piece},
    gate::{Gate, Verdict},
    message::Side,
    observe::{MESSAGE_BYTES, Tap},
};

#[cfg(test)]
mod tests;

/// Read at once.
const CHUNK: usize = 64 * 1024;
/// A signal to a whole group of processes has reached the server by itself after this time.
const GROUP: Duration = Duration::from_millis(100);
/// What the server still had to say is there so long after its end; something it left behind may hold its
/// output open for ever.
const DRAIN: Duration = Duration::from_secs(1);
/// Signals that are passed on.
const SIGNALS: [(SignalKind, Signal); 6] = [
    (SignalKind::terminate(), Signal::TERM),
    (SignalKind::interrupt(), Signal::INT),
    (SignalKind::hangup(), Signal::HUP),
    (SignalKind::quit(), Signal::QUIT),
    (SignalKind::user_defined1(), Signal::USR1),
    (SignalKind::user_defined2(), Signal::USR2),
];

/// Runs the server `command` between this process's standard input and output, and returns its exit code; 128
/// and the signal when one ended it. Fails when it cannot be started.
pub async fn run(command: &[OsString], settings: Settings, memory: Memory) -> io::Result<u8> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no server is named"));
    };
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the server has no standard input or output"));
    };
    let mut proxy = Proxy::new(settings, memory);
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let connection = proxy.connect(&name);
    let notes = connection.notes.clone();
    let drained = join(connection, (io::stdin(), input), (output, io::stdout()))?;
    let drained = tokio::spawn(async move {
        let _ = drained.await;
        // A server may say that it is done and live on, and the client is to know.
        if let Err(error) = hang_up() {
            tracing::debug!(%error, "the client is not told that the server has nothing more to say");
        }
    });
    let status = wait(child).await?;
    let _ = tokio::time::timeout(DRAIN, drained).await;
    notes.close();
    proxy.finish(FAREWELL).await;
    Ok(code(status))
}

/// Passes on what both sides say. Resolves when the server has nothing more to say and the client got it.
fn join(
    connection: Connection,
    (client_in, server_in): (impl Read + Send + 'static, impl Write + Send + 'static),
    (server_out, client_out): (impl Read + Send + 'static, impl Write + Send + 'static),
) -> io::Result<oneshot::Receiver<()>> {
    let Connection { notes, gate } = connection;
    let requests = Tap::new(notes.clone(), Side::Client);
    let answers = Tap::new(notes, Side::Server);
    let (done, drained) = oneshot::channel();
    match gate {
        None => {
            spawn("client", move || plain(client_in, server_in, requests))?;
            spawn("server", move || {
                plain(server_out, client_out, answers);
                let _ = done.send(());
            })?;
        }
        Some(gate) => {
            let out = Out::new(client_out);
            let runtime = Handle::current();
            let asked = Asked { gate: gate.clone(), runtime: runtime.clone(), out: out.clone() };
            spawn("client", move || asked.requests(client_in, server_in, requests))?;
            let answered = Asked { gate, runtime, out };
            spawn("server", move || {
                answered.answers(server_out, answers);
                let _ = done.send(());
            })?;
        }
    }
    Ok(drained)
}

/// Ends the standard output of this process.
fn hang_up() -> io::Result<()> {
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere)?)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(format!("mcp-{name}")).spawn(work).map(drop)
}

/// Until one side has ended; dropping the ends says so to the other.
fn plain(mut from: impl Read, mut to: impl Write, mut tap: Tap) {
    each_chunk(&mut from, |chunk| {
        // Before it is passed on: whoever hears it may answer or leave at once, and that is noted as well.
        tap.copy(chunk);
        to.write_all(chunk)?;
        to.flush()
    });
}

fn each_chunk(from: &mut impl Read, mut take: impl FnMut(&[u8]) -> io::Result<()>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(n) => {
                if let Err(error) = take(&chunk[..n]) {
                    return tracing::debug!(%error, "nobody reads any more");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return tracing::debug!(%error, "cannot be read any more"),
        }
    }
}

/// Both directions with a gate between them.
struct Asked<W> {
    gate: Arc<Gate>,
    runtime: Handle,
    out: Out<W>,
}

impl<W: Write> Asked<W> {
    fn requests(&self, mut from: impl Read, mut to: impl Write, mut tap: Tap) {
        let mut lines = Lines::new(MESSAGE_BYTES);
        each_chunk(&mut from, |chunk| {
            tap.copy(chunk);
            let mut written = Ok(());
            lines.push(chunk, |piece| {
                let passed = match piece {
                    Piece::Part(part) => to.write_all(part),
                    Piece::Line(line) => match self.runtime.block_on(self.gate.request(Way::Common, line)) {
                        Verdict::Pass => to.write_all(line),
                        Verdict::Answer(answer) => self.out.inject(answer),
                    },
                };
                if passed.is_err() {
                    written = passed;
                }
            });
            written.and_then(|()| to.flush())
        });
        let _ = to.write_all(&lines.end());
    }

    fn answers(&self, mut from: impl Read, mut tap: Tap) {
        let mut lines = Lines::new(MESSAGE_BYTES);
        each_chunk(&mut from, |chunk| {
            tap.copy(chunk);
            let mut written = Ok(());
            lines.push(chunk, |piece| {
                let passed = match piece {
                    Piece::Part(part) => self.out.write(part),
                    Piece::Line(line) => match self.runtime.block_on(self.gate.answer(Way::Common, line)) {
                        None => self.out.write(line),
                        Some(other) => self.out.write(&other),
                    },
                };
                if passed.is_err() {
                    written = passed;
                }
            });
            written
        });
        let _ = self.out.write(&lines.end());
    }
}

/// What the client reads: the server's words, and between two lines of them one of ours.
struct Out<W>(Arc<Mutex<Writer<W>>>);

struct Writer<W> {
    to: W,
    within_line: bool,
    waiting: Vec<Vec<u8>>,
}

impl<W> Clone for Out<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Write> Out<W> {
    fn new(to: W) -> Self {
        Self(Arc::new(Mutex::new(Writer { to, within_line: false, waiting: Vec::new() })))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        let mut writer = self.writer();
        writer.to.write_all(bytes)?;
        writer.within_line = *last != b'\n';
        if !writer.within_line {
            for line in std::mem::take(&mut writer.waiting) {
                writer.to.write_all(&line)?;
            }
        }
        writer.to.flush()
    }

    fn inject(&self, line: Vec<u8>) -> io::Result<()> {
        let mut writer = self.writer();
        if writer.within_line {
            writer.waiting.push(line);
            return Ok(());
        }
        writer.to.write_all(&line)?;
        writer.to.flush()
    }

    fn writer(&self) -> MutexGuard<'_, Writer<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of the child, which gets the signals that this process gets.
async fn wait(child: Child) -> io::Result<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, mut end) = oneshot::channel();
    let mut child = child;
    spawn("child", move || {
        let _ = ended.send(child.wait());
    })?;
    let (sender, mut signals) = tokio::sync::mpsc::unbounded_channel();
    let mut listening = tokio::task::JoinSet::new();
    for (kind, signal) in SIGNALS {
        let mut heard = tokio::signal::unix::signal(kind)?;
        let sender = sender.clone();
        listening.spawn(async move { while heard.recv().await.is_some() && sender.send(signal).is_ok() {} });
    }
    loop {
        tokio::select! {
            status = &mut end => return status.map_err(io::Error::other)?,
            Some(signal) = signals.recv() => {
                if let Ok(status) = tokio::time::timeout(GROUP, &mut end).await {
                    return status.map_err(io::Error::other)?;
                }
                if let Some(pid) = pid
                    && let Err(error) = kill_process(pid, signal)
                {
                    tracing::debug!(%error, ?signal, "the server did not get a signal");
                }
            }
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(u8::MAX)
}
