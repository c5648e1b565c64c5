//! The write-ahead journal of one collection.
//!
//! A record is `length: u32 LE · crc32: u32 LE · PointsUpdateOperation`, Qdrant's own message. Records hold
//! the outcome of a write, never its condition: whole points and ids. Applying a prefix of them again in
//! order, over a state that already has some or all of their effects, therefore ends in the same state.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
};

use hindsight_ports::StoreError;
use prost::Message;
use qdrant_client::qdrant::PointsUpdateOperation;

const HEADER: usize = 8;
/// A length above this can only be a torn header.
const MAX_RECORD: u32 = 1 << 30;

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    len: u64,
}

impl Journal {
    /// Opens or creates the journal and hands every whole record to `replay`, in order. What follows the
    /// last whole record was never acknowledged (the crash tore it) and is cut off.
    pub(crate) fn open(
        path: &Path,
        mut replay: impl FnMut(PointsUpdateOperation) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let failed = |error: io::Error| unavailable(path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::new(&mut file);
        let mut len = 0;
        while let Some((record, size)) = read_record(&mut reader).map_err(failed)? {
            replay(record)?;
            len += size;
        }
        if len < total {
            tracing::warn!(journal = %path.display(), bytes = total - len, "cutting off a torn record");
        }
        file.set_len(len).map_err(failed)?;
        file.seek(SeekFrom::Start(len)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(Self { file, len })
    }

    /// Hands every record to `replay`, in order.
    pub(crate) fn replay(
        &mut self,
        mut replay: impl FnMut(PointsUpdateOperation) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::Unavailable(format!("journal: {error}"));
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut reader = BufReader::new((&mut self.file).take(self.len));
        let replayed = loop {
            match read_record(&mut reader) {
                Ok(Some((record, _))) => {
                    if let Err(error) = replay(record) {
                        break Err(error);
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(failed(error)),
            }
        };
        self.file.seek(SeekFrom::Start(self.len)).map_err(failed)?;
        replayed
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Hands the record to the operating system: it survives the death of this process, and after `sync`
    /// that of the machine. After an error the caller must `rewind`.
    pub(crate) fn append(&mut self, record: &PointsUpdateOperation) -> io::Result<()> {
        let body = record.encode_to_vec();
        let length = u32::try_from(body.len())
            .ok()
            .filter(|length| *length <= MAX_RECORD)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "record larger than 1 GiB"))?;
        let mut frame = Vec::with_capacity(HEADER + body.len());
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        frame.extend_from_slice(&body);
        self.file.write_all(&frame)?;
        self.len += frame.len() as u64;
        Ok(())
    }

    /// Forgets everything after `len` bytes.
    pub(crate) fn rewind(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.file.seek(SeekFrom::Start(len))?;
        self.len = len;
        Ok(())
    }

    /// Forgets everything, durably: an old record must never follow a new one.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.rewind(0)?;
        self.sync()
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// `None` at the end, and at the first record that is torn.
fn read_record(reader: &mut impl Read) -> io::Result<Option<(PointsUpdateOperation, u64)>> {
    let mut header = [0; HEADER];
    if !read_full(reader, &mut header)? {
        return Ok(None);
    }
    let [l0, l1, l2, l3, c0, c1, c2, c3] = header;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length > MAX_RECORD {
        return Ok(None);
    }
    let mut body = Vec::new();
    reader.by_ref().take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize || crc32fast::hash(&body) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Ok(None);
    }
    let record = PointsUpdateOperation::decode(body.as_slice())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((record, HEADER as u64 + u64::from(length))))
}

/// `false` when the input ends before the buffer is full.
fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn unavailable(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
