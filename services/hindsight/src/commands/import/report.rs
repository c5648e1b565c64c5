//! What became of an import.

use std::{collections::BTreeMap, fmt::Write as _};

use hindsight_import::RecordError;
use hindsight_wiring::code;
use serde::Serialize;

use super::{Progress, files::Read, verdict::Verdicts};
use crate::ui::Style;

/// What to do about runs that the gate left out.
const SKIPPED: &str = "\
skipped    short runs of tasks that did not fail teach nothing: `hindsight doctor TRACE` says what one lacked,
           `min_tool_calls` and `min_duration` of [gate] how much is asked for; lower them, then `hindsight failures --replay TRACE`
";

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub files: Vec<FileReport>,
    pub submitted: usize,
    /// Taken in by an earlier import.
    pub already_there: usize,
    /// Taken in by an earlier import with fewer steps, and now again.
    pub grown: usize,
    /// Taken in by an earlier import with more steps than it has now; the earlier one stays.
    pub changed: Vec<Changed>,
    /// Read, but not accepted by the server.
    pub refused: Vec<Refusal>,
    /// `None`: not waited for.
    pub verdicts: Option<Verdicts>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct FileReport {
    pub path: String,
    /// `None`: not recognised.
    pub format: Option<&'static str>,
    pub records: u64,
    pub runs: usize,
    pub broken: Vec<Broken>,
    /// Why the file as a whole cannot be read.
    pub error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Broken {
    pub line: u64,
    pub element: Option<u64>,
    pub reason: String,
}

impl Broken {
    /// Where it stands and what is wrong with it.
    pub(crate) fn told(&self, path: &str) -> String {
        let element = self.element.map(|i| format!(" (element {i})")).unwrap_or_default();
        format!("{path}:{}{element}: {}", self.line, self.reason)
    }
}

impl From<RecordError> for Broken {
    fn from(e: RecordError) -> Self {
        Self { line: e.line, element: e.element, reason: e.reason }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    pub trace_id: String,
    pub steps_then: u32,
    pub steps_now: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    pub path: String,
    pub trace_id: String,
    pub reason: String,
}

impl Report {
    pub(super) fn read(&mut self, read: Read, progress: &Progress) {
        if let Read::File { path } = read {
            progress.file(&path);
            self.files.push(FileReport { path, ..FileReport::default() });
            return;
        }
        let Some(file) = self.files.last_mut() else { return };
        match read {
            Read::Format(name) => file.format = Some(name),
            Read::Broken(e) => file.broken.push(e.into()),
            Read::Unreadable(reason) => file.error = Some(reason),
            Read::End(records) => {
                file.records = records;
                file.broken.sort_by_key(|b| b.line);
            }
            Read::Run(_) | Read::File { .. } => {}
        }
    }

    /// Counts a run of the present file; its place among the files.
    pub(super) fn count_run(&mut self) -> usize {
        if let Some(file) = self.files.last_mut() {
            file.runs += 1;
        }
        self.files.len().saturating_sub(1)
    }

    pub(super) fn path(&self, file: usize) -> String {
        self.files.get(file).map(|f| f.path.clone()).unwrap_or_default()
    }

    /// Broken input goes first, then runs that could not be judged, then those that still wait.
    pub(crate) fn exit_code(&self) -> u8 {
        let broken = self.files.iter().any(|f| f.error.is_some() || !f.broken.is_empty());
        match &self.verdicts {
            _ if broken || !self.refused.is_empty() => code::DATA,
            Some(v) if !v.failed.is_empty() => code::INTERNAL,
            Some(v) if v.waiting > 0 => code::TEMPORARY,
            _ => 0,
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.counts();
        for file in &self.files {
            if let Some(reason) = &file.error {
                let _ = writeln!(text, "{} {}: {reason}", Style::Red.paint("unreadable"), file.path);
            }
            for b in &file.broken {
                let _ = writeln!(text, "{} {}", Style::Red.paint("broken"), b.told(&file.path));
            }
        }
        for c in &self.changed {
            let _ = writeln!(
                text,
                "{} {}: had {} steps when it was taken in and has {} now; the earlier stays",
                Style::Yellow.paint("changed"),
                c.trace_id,
                c.steps_then,
                c.steps_now
            );
        }
        for r in &self.refused {
            let _ = writeln!(
                text,
                "{} {}: run {}: {}",
                Style::Red.paint("refused"),
                r.path,
                r.trace_id,
                r.reason
            );
        }
        for f in self.verdicts.iter().flat_map(|v| &v.failed) {
            let _ = writeln!(text, "{} {}: {}", Style::Red.paint("not judged"), f.trace_id, f.reason);
        }
        text
    }

    fn counts(&self) -> String {
        let mut formats = BTreeMap::<&str, usize>::new();
        for format in self.files.iter().filter_map(|f| f.format) {
            *formats.entry(format).or_default() += 1;
        }
        let formats = formats.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ");
        let records: u64 = self.files.iter().map(|f| f.records).sum();
        let runs: usize = self.files.iter().map(|f| f.runs).sum();
        let broken: usize = self.files.iter().map(|f| f.broken.len()).sum();
        let mut text =
            format!("files      {} ({formats})\nrecords    {records}, {broken} broken\n", self.files.len());
        let _ = writeln!(
            text,
            "runs       {runs}: {} submitted, {} grown, {} already there, {} changed, {} refused",
            self.submitted,
            self.grown,
            self.already_there,
            self.changed.len(),
            self.refused.len()
        );
        match &self.verdicts {
            Some(v) => {
                let _ = writeln!(
                    text,
                    "judged     {}, {} skipped by the gate, {} failed, {} still waiting",
                    v.judged,
                    v.skipped,
                    v.failed.len(),
                    v.waiting
                );
                if v.skipped > 0 {
                    text.push_str(SKIPPED);
                }
            }
            None => text.push_str("judged     later, not waited for\n"),
        }
        text
    }
}
