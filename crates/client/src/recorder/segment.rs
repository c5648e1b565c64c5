//! One file of the spool: records one after the other, each `length u32 LE, crc32 u32 LE, payload`.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

/// Bytes before each payload.
pub(super) const HEADER: u64 = 8;
/// No record is longer: what says so is damaged.
const LONGEST: u64 = hindsight_types::limits::MESSAGE_BYTES as u64;

/// What is known of a file.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    /// Position of its first record; its name.
    pub(super) first: u64,
    pub(super) records: u64,
    /// Bytes of its whole records.
    pub(super) bytes: u64,
}

impl Segment {
    pub(super) fn create(folder: &Path, first: u64) -> io::Result<(Self, File)> {
        let path = folder.join(format!("{first:020}.spool"));
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok((Self { path, first, records: 0, bytes: 0 }, file))
    }

    /// Reads a file that a former process wrote, up to the first record that is not whole: a process that was
    /// killed leaves a torn tail. Cuts off what is behind that, and returns how many bytes it was.
    pub(super) fn recover(path: PathBuf, first: u64) -> io::Result<(Self, u64)> {
        let size = path.metadata()?.len();
        let mut segment = Self { path, first, records: 0, bytes: 0 };
        let mut reader = BufReader::new(File::open(&segment.path)?);
        while let Some(payload) = read_record(&mut reader, size - segment.bytes)? {
            segment.records += 1;
            segment.bytes += HEADER + payload.len() as u64;
        }
        let torn = size - segment.bytes;
        if torn > 0 {
            OpenOptions::new().write(true).open(&segment.path)?.set_len(segment.bytes)?;
        }
        Ok((segment, torn))
    }

    /// Position after its last record.
    pub(super) fn end(&self) -> u64 {
        self.first + self.records
    }

    /// In one write, so that a process that is killed leaves whole records but perhaps for the last.
    pub(super) fn append(&mut self, file: &mut File, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        let mut record = Vec::with_capacity(payload.len() + 8);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
        record.extend_from_slice(payload);
        file.write_all(&record)?;
        self.records += 1;
        self.bytes += record.len() as u64;
        Ok(())
    }

    /// The file, placed before the record at `position`.
    pub(super) fn open_at(&self, position: u64) -> io::Result<Reading> {
        let mut reading =
            Reading { first: self.first, next: self.first, offset: 0, file: File::open(&self.path)? };
        while reading.next < position {
            reading.read(self)?;
        }
        Ok(reading)
    }
}

/// A place in a file.
#[derive(Debug)]
pub(super) struct Reading {
    /// Of the segment.
    pub(super) first: u64,
    /// Position of the record that is read next.
    pub(super) next: u64,
    offset: u64,
    file: File,
}

impl Reading {
    pub(super) fn read(&mut self, segment: &Segment) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let payload = read_record(&mut self.file, segment.bytes.saturating_sub(self.offset))?
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a record is damaged"))?;
        self.next += 1;
        self.offset += HEADER + payload.len() as u64;
        Ok(payload)
    }
}

/// The next of the `left` bytes; `None` at their end, or where no whole record follows.
fn read_record(reader: &mut impl io::Read, left: u64) -> io::Result<Option<Vec<u8>>> {
    if left < HEADER {
        return Ok(None);
    }
    let (mut length, mut crc) = ([0; 4], [0; 4]);
    reader.read_exact(&mut length)?;
    reader.read_exact(&mut crc)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > left - HEADER || length > LONGEST {
        return Ok(None);
    }
    let mut payload = Vec::new();
    reader.take(length).read_to_end(&mut payload)?;
    let whole = payload.len() as u64 == length && crc32fast::hash(&payload) == u32::from_le_bytes(crc);
    Ok(whole.then_some(payload))
}
