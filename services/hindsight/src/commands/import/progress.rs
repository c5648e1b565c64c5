use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::Ui;

/// How far an import is: a bar on a terminal, nothing elsewhere (the report says it all at the end).
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(ui: Ui, bytes: u64) -> Self {
        // indicatif draws on standard error, and only when that is a terminal.
        let target = if ui.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        bar.set_style(style("reading {bar:30} {bytes}/{total_bytes} {msg}"));
        Self { bar }
    }

    /// Counts what is read of a file.
    pub(super) fn counting<R: io::Read>(&self, input: R) -> impl io::Read + use<R> {
        self.bar.wrap_read(input)
    }

    pub(super) fn file(&self, path: &str) {
        self.bar.set_message(path.to_owned());
    }

    pub(super) fn judging(&self, runs: usize) {
        self.bar.set_style(style("judging {bar:30} {pos}/{len} runs"));
        self.bar.set_length(runs as u64);
        self.bar.set_position(0);
    }

    pub(super) fn judged(&self, runs: usize) {
        self.bar.inc(runs as u64);
    }

    pub(super) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// The templates are constants; a bad one falls back to the default look.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
