//! What the watcher tells: one JSON object a line on standard output, or lines of text on standard error.

use std::path::Path;

use hindsight_wiring::Failure;
use serde::Serialize;

use crate::ui::Ui;

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    /// It begins; runs end when nothing is added for `idle_s` seconds.
    Watching {
        folder: &'a Path,
        idle_s: u64,
        state: &'a Path,
        known_files: usize,
    },
    /// A file is read.
    Reading {
        path: &'a Path,
        format: &'a str,
    },
    /// Steps of a run are with the server: those from `from` to before `to`.
    Steps {
        path: &'a Path,
        trace_id: &'a str,
        from: u32,
        to: u32,
    },
    /// A run is over.
    Ended {
        path: &'a Path,
        trace_id: &'a str,
        steps: u32,
        why: Why,
    },
    /// A record that could not be used.
    Broken {
        path: &'a Path,
        line: u64,
        element: Option<u64>,
        reason: &'a str,
    },
    /// A file that could not be read.
    Unreadable {
        path: &'a Path,
        reason: &'a str,
    },
    /// Something the server will never accept as it is.
    Refused {
        trace_id: &'a str,
        reason: &'a str,
    },
    /// The server is away.
    Waiting {
        reason: &'a str,
        again_in_s: f64,
    },
    /// The server is there again.
    Back,
    Stopped {
        steps: u64,
        runs: u64,
    },
}

/// Why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// Its file says so.
    Said,
    /// Nothing was added for long enough.
    Idle,
    /// Its file is gone.
    Deleted,
    /// Its file was begun anew.
    Replaced,
}

impl Event<'_> {
    fn text(&self) -> Option<String> {
        Some(match self {
            Self::Watching { folder, idle_s, state, known_files } => format!(
                "watching {}; a run ends when nothing is added to its file for {idle_s} s (--idle)\n\
                 positions are kept in {} ({known_files} files are known); Ctrl-C stops",
                folder.display(),
                state.display()
            ),
            Self::Reading { .. } => return None,
            Self::Steps { path, trace_id, from, to } => {
                format!("steps    {} {trace_id}: {} more, {to} in all", path.display(), to - from)
            }
            Self::Ended { path, trace_id, steps, why } => {
                let why = match why {
                    Why::Said => "as its file says",
                    Why::Idle => "nothing was added for long enough",
                    Why::Deleted => "its file is gone",
                    Why::Replaced => "its file was begun anew",
                };
                format!("ended    {} {trace_id}: {steps} steps; {why}", path.display())
            }
            Self::Broken { path, line, element, reason } => {
                let element = element.map(|i| format!(" (element {i})")).unwrap_or_default();
                format!("broken   {}:{line}{element}: {reason}", path.display())
            }
            Self::Unreadable { path, reason } => format!("unread   {}: {reason}", path.display()),
            Self::Refused { trace_id, reason } => format!("refused  {trace_id}: {reason}"),
            Self::Waiting { reason, again_in_s } => {
                format!(
                    "waiting  the server cannot take anything: {reason}; trying again in {again_in_s:.1} s"
                )
            }
            Self::Back => "back     the server takes records again".to_owned(),
            Self::Stopped { steps, runs } => {
                format!("stopped  {steps} steps were sent and {runs} runs ended")
            }
        })
    }
}

/// Where it is told, and the sums.
#[derive(Debug)]
pub(super) struct Say {
    ui: Ui,
    pub steps: u64,
    pub runs: u64,
}

impl Say {
    pub(super) fn new(ui: Ui) -> Self {
        Self { ui, steps: 0, runs: 0 }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match event {
            Event::Steps { from, to, .. } => self.steps += u64::from(to - from),
            Event::Ended { .. } => self.runs += 1,
            _ => {}
        }
        if self.ui.json {
            return self.ui.row(event);
        }
        if let Some(text) = event.text() {
            self.ui.note(&text);
        }
        Ok(())
    }
}
