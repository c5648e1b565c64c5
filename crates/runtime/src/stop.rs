use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Asks a process to stop: first in order, then, asked again, at once.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    pub(crate) graceful: CancellationToken,
    pub(crate) immediate: CancellationToken,
}

impl StopSignal {
    /// Stop in order; the second time, stop at once.
    pub fn request(&self) {
        if self.graceful.is_cancelled() {
            self.immediate.cancel();
        }
        self.graceful.cancel();
    }

    pub fn is_requested(&self) -> bool {
        self.graceful.is_cancelled()
    }

    /// Waits until a stop is requested.
    pub async fn requested(&self) {
        self.graceful.cancelled().await;
    }

    /// Requests a stop on every SIGTERM and SIGINT, for as long as the handle lives.
    pub fn on_signals(&self) -> std::io::Result<AbortOnDropHandle<()>> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = self.clone();
        Ok(AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                tracing::info!(signal = name, "stop requested; once more stops at once");
                stop.request();
            }
        })))
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was finished.
    Clean,
    /// The grace period ran out; what was not acknowledged comes again after the next start.
    GraceExpired,
    /// Asked to stop twice.
    Interrupted,
}

impl Exit {
    /// Exit code of the process: 0, 75 (EX_TEMPFAIL of sysexits.h) or 130.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::GraceExpired => 75,
            Self::Interrupted => 130,
        }
    }
}
