//! What the adapter keeps on disk beside the engine's own files.
//!
//! ```text
//! <data>/store/LOCK                      held while the directory is open
//! <data>/store/<collection>/collection.pb   how it was created, its payload indexes
//!                           journal         writes since the engine's last flush
//!                           OPTIMIZING      exists while segments are rebuilt
//!                           shard/          the engine's files
//!                           fresh/          those of a shard that is to take its place
//!                           stale/          those of the shard whose place was taken
//! ```

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use hindsight_ports::{FilesRead, Probes, StoreError};
use prost::Message;
use qdrant_client::qdrant::{CreateCollection, CreateFieldIndexCollection};

use crate::{journal::unavailable, refuse::rejected};

/// Held by everything that may still write below the directory; the last holder releases it.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(|error| unavailable(dir, &error))?;
        let path = dir.join("LOCK");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| unavailable(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
                "{} is in use: another process has it open; stop that one or use another data directory",
                dir.display()
            ))),
            Err(TryLockError::Error(error)) => Err(unavailable(&path, &error)),
        }
    }
}

/// The places of one collection.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: PathBuf,
}

impl Places {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn shard(&self) -> PathBuf {
        self.root.join("shard")
    }

    pub(crate) fn fresh(&self) -> PathBuf {
        self.root.join("fresh")
    }

    pub(crate) fn stale(&self) -> PathBuf {
        self.root.join("stale")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub(crate) fn optimizing(&self) -> PathBuf {
        self.root.join("OPTIMIZING")
    }

    fn description(&self) -> PathBuf {
        self.root.join("collection.pb")
    }
}

/// How a collection was created. Written last when it is made: a directory without it never came to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Description {
    pub(crate) created: CreateCollection,
    pub(crate) indexes: Vec<CreateFieldIndexCollection>,
}

impl Description {
    /// `None`: the collection was never completely created.
    pub(crate) fn load(places: &Places) -> Result<Option<Self>, StoreError> {
        let path = places.description();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(&path, &error)),
        };
        Self::decode(&bytes)
            .map(Some)
            .map_err(|error| StoreError::Corrupt(format!("{}: {error}", path.display())))
    }

    /// Replaces the file as a whole, durably.
    pub(crate) fn save(&self, places: &Places) -> Result<(), StoreError> {
        let path = places.description();
        replace(&path, &self.encode()).map_err(|error| unavailable(&path, &error))
    }

    /// Adds the index or replaces that of the same field. `false`: it is there already.
    pub(crate) fn add_index(&mut self, index: CreateFieldIndexCollection) -> bool {
        if self.indexes.contains(&index) {
            return false;
        }
        self.indexes.retain(|known| known.field_name != index.field_name);
        self.indexes.push(index);
        true
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.created.encode_length_delimited_to_vec();
        for index in &self.indexes {
            bytes.extend(index.encode_length_delimited_to_vec());
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        let created = CreateCollection::decode_length_delimited(&mut bytes)?;
        let mut indexes = Vec::new();
        while !bytes.is_empty() {
            indexes.push(CreateFieldIndexCollection::decode_length_delimited(&mut bytes)?);
        }
        Ok(Self { created, indexes })
    }
}

/// Replaces a file as a whole, durably.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut file = File::create(&next)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    match path.parent() {
        Some(dir) => sync_dir(dir),
        None => Ok(()),
    }
}

/// Makes the names in `dir` durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Looks for probes in every file below `dir`. A file that is removed meanwhile is passed over.
pub(crate) fn find_below(dir: &Path, probes: &Probes) -> Result<FilesRead, StoreError> {
    let mut read = FilesRead::default();
    let failed = |error: io::Error| unavailable(dir, &error);
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(read),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => read = read.and(find_below(&path, probes)?),
            Ok(kind) if kind.is_file() => match File::open(&path).and_then(|file| probes.scan(file)) {
                Ok((bytes, found)) => read = read.and(FilesRead { files: 1, bytes, found }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unavailable(&path, &error)),
            },
            _ => {}
        }
    }
    Ok(read)
}

/// A collection's name becomes a directory's.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
        return Err(rejected(
            "collection_name",
            format_args!("{name:?} must have 1 to 128 of a-z, A-Z, 0-9, _ and -"),
        ));
    }
    Ok(())
}

/// The engine never shortens its own log, and does not read it either (the journal above replaces it).
/// Only its position counts: every closed file but the newest can go. To be called while it is closed.
pub(crate) fn prune_engine_log(shard: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(shard.join("wal")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut closed = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let start = name.to_str().and_then(|name| name.strip_prefix("closed-"));
        if let Some(start) = start.and_then(|start| start.parse::<u64>().ok()) {
            closed.push((start, entry.path()));
        }
    }
    closed.sort();
    closed.pop();
    // Oldest first: whatever is left after a crash is contiguous.
    closed.into_iter().try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests;
