//! A data directory in one file: a compressed tar archive that begins with a manifest of everything in it.

mod pack;
mod unpack;

use std::path::{Component, Path};

use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use pack::pack;
pub(crate) use unpack::unpack;

const FORMAT: &str = "hindsight-snapshot";
const VERSION: u32 = 1;
/// The first entry of the archive.
const MANIFEST: &str = "hindsight-snapshot.json";

/// What is in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    /// Version of the program that made it.
    hindsight: String,
    created_at: Timestamp,
    /// In the order in which they follow.
    files: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Below the data directory, with `/` between its parts.
    path: String,
    bytes: u64,
    /// In hexadecimal digits.
    sha256: String,
}

impl Manifest {
    fn new(files: Vec<Entry>, now: Timestamp) -> Self {
        let hindsight = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT.to_owned(), version: VERSION, hindsight, created_at: now, files }
    }

    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        self.created_at
    }

    fn check(&self) -> Result<(), Failure> {
        if self.format != FORMAT || self.version != VERSION {
            let Self { format, version, hindsight, .. } = self;
            let problem = format!(
                "is `{format}` {version}, made by hindsight {hindsight}; restore it with that version"
            );
            return Err(Failure::new(code::DATA, problem));
        }
        match self.files.iter().find(|file| !is_below(&file.path)) {
            Some(file) => {
                Err(Failure::new(code::DATA, format!("`{}` is not below the data directory", file.path)))
            }
            None => Ok(()),
        }
    }
}

fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
