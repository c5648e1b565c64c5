use hindsight_ports::BusError;
use rusqlite::Connection;

/// Raised with every change of the tables below.
const VERSION: i64 = 1;

/// `message` holds what is to be delivered; `lease_until` is set while a consumer has it. `dead` holds what
/// will not be delivered again. Times are milliseconds since the epoch.
const TABLES: &str = "
CREATE TABLE message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    id BLOB NOT NULL,
    schema TEXT NOT NULL,
    tenant TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    trace_context TEXT NOT NULL,
    payload BLOB NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    history TEXT NOT NULL DEFAULT '[]',
    ready_at INTEGER NOT NULL,
    lease_until INTEGER
) STRICT;
CREATE INDEX message_free ON message (queue, ready_at, seq) WHERE lease_until IS NULL;
CREATE INDEX message_leased ON message (lease_until) WHERE lease_until IS NOT NULL;
CREATE TABLE dead (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    id BLOB NOT NULL,
    schema TEXT NOT NULL,
    tenant TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    trace_context TEXT NOT NULL,
    payload BLOB NOT NULL,
    attempt INTEGER NOT NULL,
    history TEXT NOT NULL,
    died_at INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_by_id ON dead (queue, id);
";

pub(crate) fn prepare(c: &Connection) -> Result<(), BusError> {
    let run = || -> rusqlite::Result<i64> {
        c.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        c.pragma_update(None, "journal_mode", "WAL")?;
        c.pragma_update(None, "synchronous", "FULL")?;
        let version: i64 = c.pragma_query_value(None, "user_version", |r| r.get(0))?;
        if version == 0 {
            c.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            return Ok(VERSION);
        }
        Ok(version)
    };
    match run() {
        Ok(VERSION) => Ok(()),
        Ok(newer) => Err(BusError::Rejected(format!(
            "the queue file has format {newer}, this program knows {VERSION}; run the version that wrote it"
        ))),
        Err(e) => Err(crate::database::unavailable(&e)),
    }
}
