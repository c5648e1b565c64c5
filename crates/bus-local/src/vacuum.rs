//! Taking settled messages from the file as well: SQLite leaves their bytes in free pages and in its log.

use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hindsight_ports::{BusError, FilesRead, Probes, StoreError, Vacuum};
use hindsight_types::Timestamp;

use crate::{
    LocalBus,
    database::{Database, unavailable},
    owner::Request,
};

impl Database {
    /// Writes the file anew from what is in it and empties the log. Outside of a transaction.
    pub(crate) fn vacuum(&self) -> Result<(), BusError> {
        // What it puts aside meanwhile stays in memory: the queue is short.
        let steps = "PRAGMA temp_store = MEMORY; VACUUM;";
        self.connection.execute_batch(steps).map_err(|e| unavailable(&e))?;
        // It answers with a row, so it is no statement like the others.
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            .map(drop)
            .map_err(|e| unavailable(&e))
    }
}

#[async_trait]
impl Vacuum for LocalBus {
    async fn vacuum(
        &self,
        _parts: &[String],
        _deleted_at: Timestamp,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let asked = self.owner.ask(|reply| Request::Vacuum { reply }).await;
        asked.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    async fn find(&self, probes: &Probes) -> Result<Option<FilesRead>, StoreError> {
        let (file, log, probes) = (Arc::clone(&self.file), log_of(&self.path), probes.clone());
        let read = tokio::task::spawn_blocking(move || read(&file, &log, &probes)).await;
        let failed = |error: &dyn std::fmt::Display| StoreError::Unavailable(format!("queue file: {error}"));
        read.map_err(|error| failed(&error))?.map(Some).map_err(|error| failed(&error))
    }
}

/// To look through the queue file. Kept open as long as the database is: closing any handle of the file would give up
/// the locks that this process has on it.
#[derive(Debug)]
pub(crate) struct QueueFile(Mutex<File>);

impl QueueFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Mutex::new).map(Self)
    }
}

fn log_of(path: &Path) -> PathBuf {
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    log.into()
}

fn read(file: &QueueFile, log: &Path, probes: &Probes) -> io::Result<FilesRead> {
    let mut file = file.0.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(0))?;
    let (bytes, found) = probes.scan(&mut *file)?;
    let read = FilesRead { files: 1, bytes, found };
    // Nothing is locked by way of the log.
    match File::open(log).and_then(|log| probes.scan(log)) {
        Ok((bytes, found)) => Ok(read.and(FilesRead { files: 1, bytes, found })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(read),
        Err(error) => Err(error),
    }
}
