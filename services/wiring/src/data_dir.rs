//! The folder in which everything is kept, and who holds it.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, code};

/// How long another process that holds the folder is waited for.
const WAIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// A server that holds a data directory, as it says so there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// `http://HOST:PORT`.
    pub address: String,
    pub pid: u32,
}

/// The data directory, held by this process alone until it is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    serving: bool,
    _lock: File,
}

/// What holding the directory came to.
#[derive(Debug)]
pub enum Hold {
    Mine(DataDir),
    /// A server has it; talk to that.
    Served(Serving),
}

impl DataDir {
    /// Takes the directory, creating it when it is not there. A server that holds it is named; any other
    /// process is waited for.
    pub fn hold(path: &Path) -> Result<Hold, Failure> {
        fs::create_dir_all(path)
            .map_err(|e| Failure::new(code::IO, format!("data directory {}: {e}", path.display())))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("lock"))
            .map_err(|e| Failure::new(code::IO, format!("data directory {}: {e}", path.display())))?;
        let begun = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => {
                    let held = Self { path: path.to_owned(), serving: false, _lock: lock };
                    held.forget_server()?;
                    return Ok(Hold::Mine(held));
                }
                Err(TryLockError::Error(e)) => return Err(e.into()),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(serving) = read(path) {
                return Ok(Hold::Served(serving));
            }
            if begun.elapsed() >= WAIT {
                let message =
                    format!("another process holds {}; try again when it has ended", path.display());
                return Err(Failure::new(code::UNAVAILABLE, message));
            }
            std::thread::sleep(POLL);
        }
    }

    /// As [`DataDir::hold`], without blocking the runtime.
    pub async fn hold_async(path: PathBuf) -> Result<Hold, Failure> {
        tokio::task::spawn_blocking(move || Self::hold(&path))
            .await
            .map_err(|e| Failure::new(code::INTERNAL, e))?
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says where this process serves, for as long as it holds the directory.
    pub fn announce(&mut self, serving: &Serving) -> Result<(), Failure> {
        let text = serde_json::to_string(serving).map_err(std::io::Error::from)?;
        let draft = self.path.join("serve.json.new");
        fs::write(&draft, text)?;
        fs::rename(&draft, file(&self.path))?;
        self.serving = true;
        Ok(())
    }

    /// What a server that was killed left behind.
    fn forget_server(&self) -> Result<(), Failure> {
        match fs::remove_file(file(&self.path)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if self.serving
            && let Err(failure) = self.forget_server()
        {
            tracing::warn!(%failure, "the address of this server stays in the data directory");
        }
    }
}

fn file(path: &Path) -> PathBuf {
    path.join("serve.json")
}

fn read(path: &Path) -> Option<Serving> {
    serde_json::from_slice(&fs::read(file(path)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine(path: &Path) -> DataDir {
        match DataDir::hold(path).unwrap() {
            Hold::Mine(dir) => dir,
            Hold::Served(serving) => panic!("served by {serving:?}"),
        }
    }

    #[test]
    fn a_server_is_found_while_it_holds_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let serving = Serving { address: "http://127.0.0.1:7777".to_owned(), pid: 1 };
        let mut dir = mine(root.path());
        dir.announce(&serving).unwrap();
        match DataDir::hold(root.path()).unwrap() {
            Hold::Served(found) => assert_eq!(found, serving),
            Hold::Mine(_) => panic!("held twice"),
        }
        drop(dir);
        assert!(read(root.path()).is_none());
        mine(root.path());
    }

    #[test]
    fn the_address_of_a_killed_server_is_not_believed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(file(root.path()), r#"{"address":"http://127.0.0.1:1","pid":1}"#).unwrap();
        let dir = mine(root.path());
        assert!(read(root.path()).is_none());
        drop(dir);
    }

    #[test]
    fn another_process_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let dir = mine(root.path());
        let path = root.path().to_owned();
        let waiting = std::thread::spawn(move || mine(&path).path().to_owned());
        drop(dir);
        assert_eq!(waiting.join().unwrap(), root.path());
    }
}
