use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, BufWriter, Seek as _, SeekFrom, Write},
    path::Path,
};

use hindsight_proto::{
    common::v1::memory::Kind,
    memory::v1::{ExportCheckpoint, ExportEnd, ExportHeader, export_line::Line},
    storage::v1::{Record, record::Body},
};
use hindsight_wiring::{Failure, code};

use crate::{
    exported::{Lines, Seal, render},
    render::memory,
};

/// Records between two checkpoints, at least.
const EVERY: u64 = 1_000;

/// Where an export is written.
enum Target {
    Stdout,
    File(BufWriter<File>),
}

/// Writes an export, from wherever it was broken off.
pub(super) struct Writer {
    target: Target,
    name: String,
    state: State,
    /// What one cannot go on from yet.
    pending: Vec<Record>,
    pending_unreadable: u64,
    unchecked: u64,
    end: Option<ExportEnd>,
}

/// What is in the file.
#[derive(Clone, Default)]
struct State {
    seal: Seal,
    header: Option<ExportHeader>,
    records: u64,
    counts: BTreeMap<String, u64>,
    unreadable: u64,
    cursor: String,
}

impl Writer {
    pub(super) fn to_stdout() -> Self {
        Self::new(Target::Stdout, "standard output".to_owned(), State::default())
    }

    fn new(target: Target, name: String, state: State) -> Self {
        Self { target, name, state, pending: Vec::new(), pending_unreadable: 0, unchecked: 0, end: None }
    }

    /// With `resume` after the last whole checkpoint of what is there: what comes after it is written again.
    pub(super) fn to_file(path: &Path, resume: bool) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let failed = |e: io::Error| Failure::new(code::IO, format!("{name}: {e}"));
        let mut options = File::options();
        options.read(true).write(true);
        // Everything that is known stands in it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = if resume {
            options.create(true).truncate(false).open(path)
        } else {
            options.create_new(true).open(path)
        };
        let mut file = match opened {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let problem =
                    format!("{name}: is there already; go on with it by --resume, or name another file");
                return Err(Failure::new(code::USAGE, problem));
            }
            opened => opened.map_err(failed)?,
        };
        let (state, offset, end) = read(&file).map_err(failed)?;
        if end.is_none() {
            file.set_len(offset).map_err(failed)?;
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        let mut writer = Self::new(Target::File(BufWriter::new(file)), name, state);
        writer.end = end;
        Ok(writer)
    }

    /// When the file is finished already.
    pub(super) fn end(&self) -> Option<&ExportEnd> {
        self.end.as_ref()
    }

    pub(super) fn records(&self) -> u64 {
        self.state.records
    }

    pub(super) fn cursor(&self) -> &str {
        &self.state.cursor
    }

    /// What came without a place to go on from comes again.
    pub(super) fn forget_unfinished(&mut self) {
        self.pending.clear();
        self.pending_unreadable = 0;
    }

    pub(super) fn header(&mut self, header: ExportHeader) -> Result<(), Failure> {
        match &self.state.header {
            None => {
                self.line(Line::Header(header.clone()))?;
                self.state.header = Some(header);
                Ok(())
            }
            Some(known) if known.tenant == header.tenant && known.version == header.version => Ok(()),
            Some(known) => {
                let problem = format!(
                    "{}: is of tenant `{}`, and the server answers for `{}`; name another file",
                    self.name, known.tenant, header.tenant
                );
                Err(Failure::new(code::DATA, problem))
            }
        }
    }

    /// `cursor` is empty when one cannot go on from after these.
    pub(super) fn take(
        &mut self,
        records: Vec<Record>,
        unreadable: u64,
        cursor: &str,
    ) -> Result<(), Failure> {
        self.pending.extend(records);
        self.pending_unreadable += unreadable;
        if cursor.is_empty() {
            return Ok(());
        }
        self.write_pending()?;
        self.state.cursor = cursor.to_owned();
        if self.unchecked >= EVERY {
            let State { records, unreadable, seal, .. } = &self.state;
            let (records, unreadable, sha256) = (*records, *unreadable, seal.digest());
            let checkpoint = ExportCheckpoint { records, unreadable, cursor: cursor.to_owned(), sha256 };
            self.line(Line::Checkpoint(checkpoint))?;
            self.sync()?;
            self.unchecked = 0;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<ExportEnd, Failure> {
        self.write_pending()?;
        let State { seal, records, counts, unreadable, .. } = &self.state;
        let end = ExportEnd {
            records: *records,
            counts: counts.clone().into_iter().collect(),
            unreadable: *unreadable,
            sha256: seal.digest(),
        };
        self.line(Line::End(end.clone()))?;
        self.sync()?;
        Ok(end)
    }

    fn write_pending(&mut self) -> Result<(), Failure> {
        self.state.unreadable += std::mem::take(&mut self.pending_unreadable);
        for record in std::mem::take(&mut self.pending) {
            self.state.count(&record);
            self.unchecked += 1;
            self.line(Line::Record(record))?;
        }
        Ok(())
    }

    fn line(&mut self, line: Line) -> Result<(), Failure> {
        let line = self.state.seal.close(&render(line)?);
        let written = match &mut self.target {
            Target::Stdout => io::stdout().lock().write_all(line.as_bytes()),
            Target::File(file) => file.write_all(line.as_bytes()),
        };
        written.map_err(|e| self.failed(e))
    }

    fn sync(&mut self) -> Result<(), Failure> {
        let synced = match &mut self.target {
            Target::Stdout => io::stdout().lock().flush(),
            Target::File(file) => file.flush().and_then(|()| file.get_ref().sync_data()),
        };
        synced.map_err(|e| self.failed(e))
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::new(code::IO, format!("{}: {error}", self.name))
    }
}

impl State {
    fn count(&mut self, record: &Record) {
        self.records += 1;
        *self.counts.entry(kind(record).to_owned()).or_default() += 1;
    }
}

/// What is in a file up to its last whole checkpoint, how far that is, and its end if it has one.
fn read(file: &File) -> io::Result<(State, u64, Option<ExportEnd>)> {
    let mut lines = Lines::new(BufReader::new(file));
    let (mut at, mut kept, mut offset) = (State::default(), State::default(), 0);
    while let Some(Ok(line)) = lines.next()? {
        match line {
            Line::Header(header) => at.header = Some(header),
            Line::Record(record) => at.count(&record),
            Line::Checkpoint(checkpoint) => {
                at.cursor = checkpoint.cursor;
                at.unreadable = checkpoint.unreadable;
                kept = State { seal: lines.seal.clone(), ..at.clone() };
                offset = lines.offset;
            }
            Line::End(end) => return Ok((State { seal: lines.seal.clone(), ..at }, lines.offset, Some(end))),
        }
    }
    Ok((kept, offset, None))
}

/// What a record is, as it is counted.
fn kind(record: &Record) -> &'static str {
    let of_memory = |m: Option<&hindsight_proto::common::v1::Memory>| match m.and_then(|m| m.kind.as_ref()) {
        Some(Kind::FailurePattern(_)) => "failure_pattern",
        _ => m.map_or("memory", memory::kind),
    };
    match &record.body {
        Some(Body::Event(_)) => "event",
        Some(Body::Memory(m)) => of_memory(Some(m)),
        Some(Body::Evaluation(_)) => "evaluation",
        Some(Body::Receipt(_)) => "receipt",
        Some(Body::Evidence(_)) => "evidence",
        Some(Body::OpenTask(_)) => "open_task",
        Some(Body::FormerVerdicts(_)) => "former_verdicts",
        Some(Body::Feedback(_)) => "feedback",
        Some(Body::Review(_)) => "review",
        Some(Body::MemoryVersion(_)) => "version",
        Some(Body::Forgotten(_)) => "tombstone",
        Some(Body::Archived(_)) => "archived",
        _ => "other",
    }
}
