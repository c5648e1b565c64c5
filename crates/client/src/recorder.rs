//! Records what an agent does without ever making it wait.
//!
//! An event goes to a thread that writes it into the spool, and from there over one stream to the server. What the
//! server has acknowledged leaves the spool. A server that is away, a process that is killed: the rest is sent later,
//! by this process or the next. Sending something twice changes nothing, since ids are derived from run and step.
//! When the spool is full, events are lost and counted; the agent goes on.

mod fit;
mod segment;
mod sender;
mod spool;
mod state;
mod task;
#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use hindsight_types::Invalid;
use tokio::{runtime, task::JoinHandle, time::timeout};

pub use spool::SpoolError;
pub use state::RecorderState;
pub use task::{NewTask, Task};

use crate::{
    Client,
    recorder::{
        segment::HEADER,
        sender::{Sender, lock},
        spool::Spool,
        state::Shared,
    },
};

/// Default for [`RecorderSettings::spool_bytes`].
const SPOOL_BYTES: u64 = 64 * 1024 * 1024;
/// Files of the spool: enough of them that what is acknowledged leaves the disk soon.
const SEGMENTS: u64 = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecorderSettings {
    /// Folder for what is not acknowledged; one recorder at a time uses it. What it holds is not redacted: it is
    /// made readable for its owner alone.
    pub spool: PathBuf,
    /// Most bytes in it.
    pub spool_bytes: u64,
}

impl RecorderSettings {
    pub fn new(spool: impl Into<PathBuf>) -> Self {
        Self { spool: spool.into(), spool_bytes: SPOOL_BYTES }
    }
}

/// Records tasks. Cheap to clone. Once it and all its tasks are dropped, what is left is sent for as long as the
/// server takes it and the runtime lives.
#[derive(Debug, Clone)]
pub struct Recorder {
    handle: Arc<Handle>,
    sending: Arc<Mutex<Option<JoinHandle<()>>>>,
}

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Recorder {
    /// Opens the spool, and begins to send what a former process left in it. Reads the spool, so it takes a moment
    /// when that is large.
    pub fn start(client: Client, settings: &RecorderSettings) -> Result<Self, SpoolError> {
        let runtime = runtime::Handle::try_current().map_err(|_| SpoolError::NoRuntime)?;
        let (spool, found) = Spool::open(&settings.spool, settings.spool_bytes / SEGMENTS)?;
        let (shared, queue) = Shared::new(settings.spool_bytes, &found, spool.last());
        let (shared, spool) = (Arc::new(shared), Arc::new(Mutex::new(spool)));
        let (writer, file) = (shared.clone(), spool.clone());
        thread::Builder::new()
            .name("hindsight-spool".to_owned())
            .spawn(move || write(&writer, &file, &queue))
            .map_err(|problem| SpoolError::Io { folder: settings.spool.clone(), problem })?;
        let sending = runtime.spawn(Sender { client, shared: shared.clone(), spool }.run());
        Ok(Self { handle: Arc::new(Handle { shared }), sending: Arc::new(Mutex::new(Some(sending))) })
    }

    /// Begins a task. Fails when the task cannot be one, and names the field; a full spool is no failure.
    pub fn task(&self, new: NewTask) -> Result<Task, Invalid> {
        Task::start(self.handle.clone(), new)
    }

    /// What became of what was recorded.
    pub fn state(&self) -> RecorderState {
        self.handle.shared.snapshot()
    }

    /// Waits until the server has acknowledged or refused everything, or the time is over: then `pending` says how
    /// much the spool still holds.
    pub async fn flush(&self, within: Duration) -> RecorderState {
        let _ = timeout(within, self.handle.shared.until(|s| s.public.pending == 0)).await;
        self.state()
    }

    /// Takes nothing more, flushes, and lets go of the spool.
    pub async fn close(self, within: Duration) -> RecorderState {
        self.handle.shared.close();
        let state = self.flush(within).await;
        let sending = lock(&self.sending).take();
        if let Some(sending) = sending {
            self.handle.shared.until(|s| s.ended).await;
            sending.abort();
            let _ = sending.await;
        }
        state
    }
}

/// Until the recorder is closed or dropped, and all it took is written.
fn write(shared: &Shared, spool: &Mutex<Spool>, queue: &mpsc::Receiver<Vec<u8>>) {
    for payload in queue {
        let outcome = lock(spool).append(&payload);
        let problem = |e| format!("the spool cannot be written: {e}; free its disk");
        shared.written(HEADER + payload.len() as u64, outcome.map_err(problem));
    }
    shared.end();
}
