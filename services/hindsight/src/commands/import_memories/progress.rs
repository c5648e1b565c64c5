use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hindsight_wiring::{Failure, code};
use serde::{Deserialize, Serialize};

use super::{Refused, check::Checked};

/// What became of the records so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) written: u64,
    pub(super) present: u64,
    pub(super) forgotten: u64,
    pub(super) refused: u64,
    /// The first of those that were refused.
    pub(super) named: Vec<Refused>,
}

/// How far an import is, kept beside its file until it is finished.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Where to.
    into: String,
    /// The checkpoint that was reached.
    line: u64,
    sha256: String,
    done: Done,
}

pub(super) struct Progress {
    path: PathBuf,
    kept: Kept,
}

impl Progress {
    /// From the beginning, or with `resume` from the checkpoint that was reached if it is of this file and was taken
    /// in at the same place.
    pub(super) fn open(file: &Path, into: &str, resume: bool, checked: &Checked) -> Result<Self, Failure> {
        let mut name = file.as_os_str().to_owned();
        name.push(".progress");
        let path = PathBuf::from(name);
        let known = if resume { read(&path)? } else { None };
        let is_of = |kept: &Kept| {
            kept.into == into
                && checked.checkpoints.iter().any(|(line, sum)| (*line, sum) == (kept.line, &kept.sha256))
        };
        let fresh = || Kept { into: into.to_owned(), line: 0, sha256: String::new(), done: Done::default() };
        Ok(Self { path, kept: known.filter(is_of).unwrap_or_else(fresh) })
    }

    /// The last line that was taken in.
    pub(super) fn line(&self) -> u64 {
        self.kept.line
    }

    pub(super) fn done(&mut self) -> &mut Done {
        &mut self.kept.done
    }

    pub(super) fn reached(&mut self, line: u64, sha256: String) -> Result<(), Failure> {
        (self.kept.line, self.kept.sha256) = (line, sha256);
        let text = serde_json::to_string(&self.kept).map_err(io::Error::from)?;
        let draft = self.path.with_extension("progress.new");
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, &self.path)).map_err(|e| self.failed(e))
    }

    pub(super) fn finish(self) -> Result<Done, Failure> {
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed(e)),
            _ => Ok(self.kept.done),
        }
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::new(code::IO, format!("{}: {error}", self.path.display()))
    }
}

/// One that cannot be read is none: what was taken in is taken in once more.
fn read(path: &Path) -> Result<Option<Kept>, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::new(code::IO, format!("{}: {e}", path.display()))),
    }
}
