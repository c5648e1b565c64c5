//! Taking settled messages from the file as well: SQLite leaves their bytes in free pages and in its log.

use std::{fs::File, io, path::PathBuf};

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
        let (path, probes) = (self.path.clone(), probes.clone());
        let read = tokio::task::spawn_blocking(move || read(path, &probes)).await;
        let failed = |error: &dyn std::fmt::Display| StoreError::Unavailable(format!("queue file: {error}"));
        read.map_err(|error| failed(&error))?.map(Some).map_err(|error| failed(&error))
    }
}

/// The file and its log.
fn read(path: PathBuf, probes: &Probes) -> io::Result<FilesRead> {
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    let mut read = FilesRead::default();
    for path in [path, log.into()] {
        match File::open(&path).and_then(|file| probes.scan(file)) {
            Ok((bytes, found)) => read = read.and(FilesRead { files: 1, bytes, found }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
