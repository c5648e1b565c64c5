//! What is in the folder.

use std::{
    collections::BTreeMap,
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::tail::identity;
use crate::commands::import::files;

/// How a file looks from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub length: u64,
    pub modified: SystemTime,
}

impl From<&Metadata> for Seen {
    fn from(m: &Metadata) -> Self {
        Self { length: m.len(), modified: m.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }
}

/// Files by what they are.
pub(super) type Found = BTreeMap<String, (PathBuf, Metadata)>;

/// The files of the folder, each by what it is.
pub(super) fn scan(folder: &Path, any: bool) -> io::Result<Found> {
    let mut paths = Vec::new();
    files::walk(folder, any, &mut paths)?;
    paths.sort();
    let mut found = Found::new();
    for path in paths {
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) => {
                found.entry(identity(&metadata)).or_insert((path, metadata));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}
