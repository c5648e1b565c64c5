//! What is not acknowledged yet, in files, so that it survives the process. Records have positions, rising
//! from 1 without end; a file is deleted once all its records are acknowledged.
//!
//! Records are written at once and left to the system to sync: they survive the death of the process at any
//! point, not that of the machine.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use super::segment::{HEADER, Reading, Segment};

/// The spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("the spool {folder} is in use by another recorder; give each its own folder")]
    InUse { folder: PathBuf },
    #[error("the spool {folder} cannot be used: {problem}; give a folder that this process may write")]
    Io { folder: PathBuf, problem: io::Error },
    #[error("a recorder sends in the background: start it within a tokio runtime")]
    NoRuntime,
}

#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    /// Locked as long as this lives.
    _lock: File,
    segments: VecDeque<Segment>,
    /// The file of the last segment, when it still grows.
    growing: Option<File>,
    /// Position of the next record.
    next: u64,
    segment_bytes: u64,
    reading: Option<Reading>,
}

/// What a former process left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Bytes at the end of files that are no whole record.
    pub(super) torn: u64,
}

impl Spool {
    /// Files are closed at `segment_bytes`.
    pub(super) fn open(folder: &Path, segment_bytes: u64) -> Result<(Self, Found), SpoolError> {
        let io = |problem| SpoolError::Io { folder: folder.to_owned(), problem };
        create_private(folder).map_err(io)?;
        let lock =
            File::options().create(true).write(true).truncate(false).open(folder.join("lock")).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(SpoolError::InUse { folder: folder.to_owned() });
            }
            Err(fs::TryLockError::Error(problem)) => return Err(io(problem)),
        }
        let (segments, found) = recover(folder).map_err(io)?;
        let next = segments.back().map_or(1, Segment::end);
        let spool = Self {
            folder: folder.to_owned(),
            _lock: lock,
            segments,
            growing: None,
            next,
            segment_bytes,
            reading: None,
        };
        Ok((spool, found))
    }

    /// Position of the last record; 0 when there was none.
    pub(super) fn last(&self) -> u64 {
        self.next - 1
    }

    /// Returns the position.
    pub(super) fn append(&mut self, payload: &[u8]) -> io::Result<u64> {
        if self.segments.back().is_some_and(|s| s.bytes >= self.segment_bytes) {
            self.growing = None;
        }
        let mut file = match self.growing.take() {
            Some(file) => file,
            None => {
                let (segment, file) = Segment::create(&self.folder, self.next)?;
                self.segments.push_back(segment);
                file
            }
        };
        let Some(segment) = self.segments.back_mut() else {
            return Err(io::Error::other("the spool has lost its last file"));
        };
        if let Err(e) = segment.append(&mut file, payload) {
            // Half a record may stand there: nothing is written behind it.
            if segment.records == 0 {
                let _ = fs::remove_file(&segment.path);
                self.segments.pop_back();
            } else {
                let _ = file.set_len(segment.bytes);
            }
            return Err(e);
        }
        self.growing = Some(file);
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Records after `position`, in order, until they are `events` or weigh `bytes`; one at least, when there
    /// is one.
    pub(super) fn read(
        &mut self,
        position: u64,
        events: usize,
        bytes: u64,
    ) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let (mut out, mut weight, mut wanted) = (Vec::new(), 0, position + 1);
        while out.len() < events && weight < bytes {
            // Between files positions may be missing: those of damaged records.
            let Some(segment) = self.segments.iter().find(|s| s.end() > wanted) else { break };
            wanted = wanted.max(segment.first);
            let mut reading = match self.reading.take() {
                Some(r) if r.first == segment.first && r.next == wanted => r,
                _ => segment.open_at(wanted)?,
            };
            let payload = reading.read(segment)?;
            weight += HEADER + payload.len() as u64;
            out.push((wanted, payload));
            wanted = reading.next;
            self.reading = Some(reading);
        }
        Ok(out)
    }

    /// Deletes files whose records all stand at `position` or before. Returns their bytes.
    pub(super) fn acknowledge(&mut self, position: u64) -> io::Result<u64> {
        let mut freed = 0;
        while let Some(segment) = self.segments.front().filter(|s| s.end() <= position + 1) {
            fs::remove_file(&segment.path)?;
            freed += segment.bytes;
            self.segments.pop_front();
        }
        if self.segments.is_empty() {
            (self.growing, self.reading) = (None, None);
        }
        Ok(freed)
    }
}

/// What is recorded is not redacted yet: only the owner may read it.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn recover(folder: &Path) -> io::Result<(VecDeque<Segment>, Found)> {
    let mut files: Vec<(u64, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let first = path.file_name()?.to_str()?.strip_suffix(".spool")?.parse().ok()?;
            Some((first, path))
        })
        .collect();
    files.sort();
    let (mut segments, mut found) = (VecDeque::new(), Found::default());
    for (first, path) in files {
        let (segment, torn) = Segment::recover(path, first)?;
        found.torn += torn;
        if segment.records == 0 {
            fs::remove_file(&segment.path)?;
            continue;
        }
        found.records += segment.records;
        found.bytes += segment.bytes;
        segments.push_back(segment);
    }
    Ok((segments, found))
}
