//! Between an MCP client and any MCP server: what passes stays as it is, a copy of it becomes memory, and a
//! call that is known to fail can be warned of.
//!
//! Nothing here waits for Hindsight but a check of a call, for a few milliseconds at most.

mod calls;
mod frame;
mod gate;
mod http;
mod message;
mod observe;
mod owed;
mod record;
mod splice;
mod sse;
mod stdio;
mod task;
#[cfg(test)]
mod testkit;
mod watch;

use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

use hindsight_ports::SystemClock;
use tokio::task::JoinSet;

use crate::Memory;

pub use http::{HttpProxy, UpstreamError};
pub use stdio::run as stdio;

use self::{
    gate::Gate,
    observe::{Counts, Notes, Observer},
    record::Recorder,
    watch::Watcher,
};

/// How much the proxy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Records what happens.
    #[default]
    Observe,
    /// Also adds a warning to the result of a call that is known to fail, and what is known of a failure.
    Annotate,
    /// Also answers a call that is known to fail with the warning; made again, it goes through.
    Confirm,
}

/// What the calls are about. All may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The task in words. `None`: told from the names of client and server.
    pub goal: Option<String>,
    /// The person the agent works for: what is learned is theirs alone.
    pub user: String,
    /// `None`: the name of the client.
    pub agent: Option<String>,
    pub task_type: String,
    /// Tags of the place it runs in.
    pub environment: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub mode: Mode,
    pub about: About,
    /// A task ends when nothing is heard for so long.
    pub idle: Duration,
    /// How long a check may take; then there is none.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: Mode::Observe, about: About::default(), idle: IDLE, patience: PATIENCE }
    }
}

/// Niceness of what may wait; 19 is the most.
const LOW: i32 = 15;
/// Default of [`Settings::idle`].
pub const IDLE: Duration = Duration::from_secs(600);
/// Default of [`Settings::patience`].
pub const PATIENCE: Duration = Duration::from_millis(10);
/// How long the end of the process waits for the last records to be durable.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// Has the calling thread run only when those that pass messages on need no core.
pub fn give_way() {
    // Elsewhere it would be the whole process.
    if cfg!(target_os = "linux")
        && let Err(error) = rustix::process::setpriority_process(None, LOW)
    {
        tracing::debug!(%error, "recording has the same priority as messages");
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Proxy {
    settings: Settings,
    memory: Memory,
    recorder: Recorder,
    counts: Arc<Counts>,
    /// Reads what passed.
    observing: JoinSet<()>,
    /// Ends when everything is durable.
    delivering: JoinSet<()>,
}

/// What a connection needs: where notes go, and the gate when calls are checked.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub notes: Notes,
    pub gate: Option<Arc<Gate>>,
}

impl Proxy {
    pub(crate) fn new(settings: Settings, memory: Memory) -> Self {
        let (recorder, delivery) = Recorder::new(memory.clone());
        let mut delivering = JoinSet::new();
        delivering.spawn(delivery);
        Self { settings, memory, recorder, counts: Arc::default(), observing: JoinSet::new(), delivering }
    }

    /// Ends when it is closed by a note, or nobody holds it any more. `server` names what is served until it says so itself.
    pub(crate) fn connect(&mut self, server: &str) -> Connection {
        let about = self.settings.about.clone();
        let (notes, observer) = Observer::new(
            about.clone(),
            server.to_owned(),
            self.recorder.clone(),
            self.counts.clone(),
            Arc::new(SystemClock),
        );
        // Those that have ended are let go of.
        while self.observing.try_join_next().is_some() {}
        self.observing.spawn(observer.run(self.settings.idle));
        let confirm = match self.settings.mode {
            Mode::Observe => return Connection { notes, gate: None },
            Mode::Annotate => false,
            Mode::Confirm => true,
        };
        let (watcher, work) = Watcher::new(self.memory.clone(), self.settings.patience, self.counts.clone());
        // It leaves nothing behind, so its end is not waited for.
        tokio::spawn(work);
        let gate = Gate::new(confirm, about, watcher, notes.clone());
        Connection { notes, gate: Some(Arc::new(gate)) }
    }

    /// Waits for the last records to be durable, and says what was not recorded.
    pub(crate) async fn finish(self, within: Duration) {
        let Self { recorder, counts, mut observing, mut delivering, .. } = self;
        let state = recorder.state();
        drop(recorder);
        let recorded = async {
            while observing.join_next().await.is_some() {}
            tokio::select! {
                biased;
                _ = delivering.join_next() => {}
                // One that is away is not waited for.
                () = state.away() => {}
            }
        };
        let _ = tokio::time::timeout(within, recorded).await;
        let of = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::Relaxed);
        let (lost, long, unanswered) =
            (of(&counts.lost) + state.lost(), of(&counts.long), of(&counts.unanswered));
        let (messages, steps, unsent) = (of(&counts.messages), of(&counts.steps), state.unsent());
        if lost + long + unanswered + unsent > 0 {
            tracing::warn!(messages, steps, lost, long, unanswered, unsent, "not everything was recorded");
        } else {
            tracing::info!(messages, steps, late = of(&counts.late), "everything was recorded");
        }
    }
}
