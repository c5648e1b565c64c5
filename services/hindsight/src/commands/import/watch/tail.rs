//! One file that others append to.

use std::{
    fs::{File, Metadata},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use sha2::{Digest as _, Sha256};

/// Bytes read at a time.
const CHUNK: usize = 256 * 1024;
/// Bytes before the position that must stay as they were.
const CHECKED: usize = 128;
/// Bytes at the beginning by which a file is known again after a restart.
const HEAD: u64 = 512;

/// A file, whatever its name: device and inode.
pub(super) fn identity(metadata: &Metadata) -> String {
    format!("{:x}:{:x}", metadata.dev(), metadata.ino())
}

/// Stays open while it is followed, so that it can be read to its end when it is renamed or deleted.
pub(super) struct Tail {
    file: File,
    position: u64,
    /// What was read last.
    last: Vec<u8>,
}

impl Tail {
    pub(super) fn open(path: &Path) -> io::Result<(Self, Metadata)> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok((Self { file, position: 0, last: Vec::new() }, metadata))
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Whether what was read is not there any more as it was.
    pub(super) fn is_rewritten(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.position {
            return Ok(true);
        }
        let mut now = vec![0; self.last.len()];
        self.file.seek(SeekFrom::Start(self.position - self.last.len() as u64))?;
        match self.file.read_exact(&mut now) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
            other => other.map(|()| now != self.last),
        }
    }

    /// The next bytes; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.position))?;
        (&mut self.file).take(CHUNK as u64).read_to_end(&mut bytes)?;
        self.position += bytes.len() as u64;
        self.last.extend_from_slice(&bytes);
        self.last.drain(..self.last.len().saturating_sub(CHECKED));
        Ok(bytes)
    }

    pub(super) fn rewind(&mut self) {
        self.position = 0;
        self.last.clear();
    }

    /// A hash of the first bytes of the `length` that were read.
    pub(super) fn head(&mut self, length: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&mut self.file).take(HEAD.min(length)).read_to_end(&mut bytes)?;
        Ok(Sha256::digest(&bytes).iter().take(8).map(|b| format!("{b:02x}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_appended_is_read_once_and_what_is_rewritten_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one\n").unwrap();
        let (mut tail, _) = Tail::open(&path).unwrap();
        assert_eq!(tail.next().unwrap(), b"one\n");
        assert_eq!(tail.next().unwrap(), b"");
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
        assert!(!tail.is_rewritten().unwrap());
        assert_eq!(tail.next().unwrap(), b"two\n");
        let head = tail.head(4).unwrap();
        assert_ne!(head, tail.head(8).unwrap());

        std::fs::write(&path, "ONE\nTWO\nthree\n").unwrap();
        assert!(tail.is_rewritten().unwrap(), "longer, and not what it was");
        tail.rewind();
        assert_eq!(tail.next().unwrap(), b"ONE\nTWO\nthree\n");
        std::fs::write(&path, "ONE\n").unwrap();
        assert!(tail.is_rewritten().unwrap(), "cut off");
        assert_ne!(head, tail.head(4).unwrap());
    }

    #[test]
    fn a_deleted_file_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one\n").unwrap();
        let (mut tail, _) = Tail::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(tail.next().unwrap(), b"one\n");
    }
}
