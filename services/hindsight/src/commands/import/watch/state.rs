//! How far each file is, kept in a small file so that a restart goes on. It is written after the server has confirmed
//! what it says; what was sent and is not in it is sent again, which changes nothing.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const VERSION: u32 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    pub steps: u32,
    /// Steps that its end was announced with.
    pub ended_at: Option<u32>,
}

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub path: PathBuf,
    /// Bytes of it that were read.
    pub length: u64,
    /// Hash of its first bytes.
    pub head: String,
    /// When it was first seen as it was then: the time of runs without one.
    pub since: Timestamp,
    /// How often it was begun anew in place.
    pub generation: u32,
    /// Nothing is open in it as far as it was read.
    pub done: bool,
    /// Line of the last record that was reported as broken.
    pub reported: u64,
    /// Runs that ended within it.
    pub finished: u64,
    /// Runs that may go on.
    pub runs: BTreeMap<String, Sent>,
}

impl Entry {
    pub(super) fn new(path: PathBuf, since: Timestamp, generation: u32) -> Self {
        Self {
            path,
            length: 0,
            head: String::new(),
            since,
            generation,
            done: false,
            reported: 0,
            finished: 0,
            runs: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    version: u32,
    files: BTreeMap<String, Entry>,
}

#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    pub files: BTreeMap<String, Entry>,
    saved: BTreeMap<String, Entry>,
}

impl State {
    /// Where it is kept when nobody says: in the folder for such things of the user, one file for each watched folder
    /// and destination.
    pub(super) fn place(folder: &Path, target: &str) -> Result<PathBuf, Failure> {
        let base = std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".local/state")))
            .ok_or_else(|| {
                Failure::new(
                    code::USAGE,
                    "there is no home folder; say where to keep positions with --state FILE",
                )
            })?;
        let name = Sha256::digest(format!("{}\n{target}", folder.display()));
        let name: String = name.iter().take(8).map(|b| format!("{b:02x}")).collect();
        Ok(base.join("hindsight").join(format!("watch-{name}.json")))
    }

    pub(super) fn load(path: PathBuf) -> Result<Self, Failure> {
        let remedy = "delete it to begin anew: what was taken in is not taken in twice";
        let failed = |e: String| Failure::new(code::IO, format!("{}: {e}; {remedy}", path.display()));
        let kept = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Kept>(&bytes).map_err(|e| failed(e.to_string()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Kept { version: VERSION, files: BTreeMap::new() }
            }
            Err(e) => return Err(failed(e.to_string())),
        };
        if kept.version != VERSION {
            return Err(failed(format!("is of version {}, not {VERSION}", kept.version)));
        }
        Ok(Self { path, saved: kept.files.clone(), files: kept.files })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what has changed since it was written last; the file is there whole or as it was.
    pub(super) fn save(&mut self) -> Result<(), Failure> {
        if self.files == self.saved {
            return Ok(());
        }
        let kept = Kept { version: VERSION, files: self.files.clone() };
        let bytes = serde_json::to_vec(&kept).map_err(|e| Failure::new(code::INTERNAL, e))?;
        let write = || {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            let draft = self.path.with_extension("new");
            fs::write(&draft, &bytes)?;
            fs::rename(&draft, &self.path)
        };
        write().map_err(|e| Failure::new(code::IO, format!("{}: {e}", self.path.display())))?;
        self.saved = kept.files;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_there_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/state.json");
        let mut state = State::load(path.clone()).unwrap();
        let mut entry = Entry::new("a.jsonl".into(), Timestamp::UNIX_EPOCH, 2);
        entry.runs.insert("t".to_owned(), Sent { steps: 3, ended_at: Some(3) });
        state.files.insert("1:2".to_owned(), entry);
        state.save().unwrap();
        assert_eq!(State::load(path.clone()).unwrap().files, state.files);

        fs::write(&path, "{\"version\":1,").unwrap();
        let error = State::load(path).unwrap_err().to_string();
        assert!(error.contains("state.json") && error.contains("delete it"), "{error}");
    }
}
