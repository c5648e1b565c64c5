use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use hindsight_ports::{BusError, Envelope, Queue, QueueStats, bus::add_reason};
use hindsight_types::{TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use uuid::Uuid;

use crate::{LocalBusOptions, schema, vacuum::QueueFile};

/// A delivery as the database knows it. `seq` and `attempt` together are the lease.
#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) seq: i64,
    pub(crate) attempt: u32,
    pub(crate) envelope: Envelope,
}

#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) leased: Vec<Leased>,
    /// How long until something else may be ready, when nothing was.
    pub(crate) wait: Option<Duration>,
}

#[derive(Debug)]
pub(crate) enum Ending {
    Ack,
    Retry {
        reason: String,
        delay: Duration,
    },
    Dead {
        reason: String,
    },
    /// Given back unsettled. A delivery that nobody saw does not count as an attempt.
    Release {
        seen: bool,
    },
}

/// The tables. Knows no threads; every call runs inside the owner's transaction.
pub(crate) struct Database {
    pub(crate) connection: Connection,
    options: LocalBusOptions,
    /// Closed after the connection.
    pub(crate) file: Arc<QueueFile>,
}

pub(crate) fn unavailable(e: &rusqlite::Error) -> BusError {
    if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
        return BusError::Unavailable(
            "the queue file is held by another process; stop it or use another data directory".into(),
        );
    }
    BusError::Unavailable(format!("queue file: {e}"))
}

impl Database {
    pub(crate) fn open(path: &Path, options: &LocalBusOptions) -> Result<Self, BusError> {
        let connection = Connection::open(path).map_err(|e| unavailable(&e))?;
        // The file has one owner; a second one should hear so at once.
        connection.busy_timeout(Duration::from_millis(200)).map_err(|e| unavailable(&e))?;
        schema::prepare(&connection)?;
        // Whoever held these is gone.
        connection
            .execute("UPDATE message SET lease_until = NULL WHERE lease_until IS NOT NULL", [])
            .map_err(|e| unavailable(&e))?;
        let file = QueueFile::open(path).map_err(|e| BusError::Unavailable(format!("queue file: {e}")))?;
        Ok(Self { connection, options: options.clone(), file: Arc::new(file) })
    }

    pub(crate) fn begin(&self) -> Result<(), BusError> {
        self.run("BEGIN IMMEDIATE")
    }

    pub(crate) fn commit(&self) -> Result<(), BusError> {
        self.run("COMMIT")
    }

    pub(crate) fn rollback(&self) -> Result<(), BusError> {
        if self.connection.is_autocommit() { Ok(()) } else { self.run("ROLLBACK") }
    }

    fn run(&self, sql: &str) -> Result<(), BusError> {
        self.connection.execute_batch(sql).map_err(|e| unavailable(&e))
    }

    pub(crate) fn now(&self) -> i64 {
        self.options.clock.now().as_millisecond()
    }

    pub(crate) fn publish(&self, queue: Queue, messages: &[Envelope]) -> Result<(), BusError> {
        let depth = self.depth(queue).map_err(|e| unavailable(&e))?;
        if depth + messages.len() as u64 > self.options.max_depth {
            return Err(BusError::Full { queue, depth });
        }
        let now = self.now();
        let insert = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(
                "INSERT INTO message (queue, id, schema, tenant, occurred_at, trace_context, payload, ready_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            for m in messages {
                let context = serde_json::to_string(&m.trace_context).unwrap_or_default();
                statement.execute(params![
                    queue.name(),
                    m.id.as_bytes().as_slice(),
                    m.schema,
                    m.tenant.as_str(),
                    m.occurred_at.to_string(),
                    context,
                    m.payload,
                    now
                ])?;
            }
            Ok(())
        };
        insert().map_err(|e| unavailable(&e))
    }

    /// Leases up to `max` ready messages, oldest first.
    pub(crate) fn fetch(&self, queue: Queue, max: usize) -> Result<Fetched, BusError> {
        let now = self.now();
        let lease_until = now + i64::try_from(self.options.lease.as_millis()).unwrap_or(i64::MAX / 2);
        let fetch = || -> rusqlite::Result<Fetched> {
            self.connection
                .prepare_cached("UPDATE message SET lease_until = NULL WHERE lease_until <= ?1")?
                .execute([now])?;
            let mut take = self.connection.prepare_cached(
                "UPDATE message SET attempt = attempt + 1, lease_until = :until WHERE seq IN (
                     SELECT seq FROM message WHERE queue = :queue AND lease_until IS NULL AND ready_at <= :now
                     ORDER BY seq LIMIT :max)
                 RETURNING seq, attempt, id, schema, tenant, occurred_at, trace_context, payload",
            )?;
            let parameters = named_params! {":until": lease_until, ":queue": queue.name(), ":now": now, ":max": max as i64};
            let mut leased = take.query_map(parameters, leased)?.collect::<rusqlite::Result<Vec<_>>>()?;
            leased.sort_by_key(|l| l.seq);
            let wait = if leased.is_empty() { self.next_ready(queue, now)? } else { None };
            Ok(Fetched { leased, wait })
        };
        fetch().map_err(|e| unavailable(&e))
    }

    fn next_ready(&self, queue: Queue, now: i64) -> rusqlite::Result<Option<Duration>> {
        let next: Option<i64> = self
            .connection
            .prepare_cached(
                "SELECT min(t) FROM (
                     SELECT min(ready_at) AS t FROM message WHERE queue = ?1 AND lease_until IS NULL
                     UNION ALL SELECT min(lease_until) FROM message WHERE lease_until IS NOT NULL)",
            )?
            .query_row([queue.name()], |r| r.get(0))?;
        Ok(next.map(|t| Duration::from_millis(u64::try_from(t - now).unwrap_or(0).max(1))))
    }

    /// Ends a lease. `NotHeld` when it ran out or was ended before.
    pub(crate) fn settle(&self, seq: i64, attempt: u32, ending: &Ending) -> Result<(), BusError> {
        let settle = || -> rusqlite::Result<usize> {
            let held = params![seq, attempt];
            match ending {
                Ending::Ack => self
                    .connection
                    .prepare_cached(
                        "DELETE FROM message WHERE seq = ?1 AND attempt = ?2 AND lease_until IS NOT NULL",
                    )?
                    .execute(held),
                Ending::Release { seen } => self
                    .connection
                    .prepare_cached(
                        "UPDATE message SET lease_until = NULL, attempt = attempt - ?3
                         WHERE seq = ?1 AND attempt = ?2 AND lease_until IS NOT NULL",
                    )?
                    .execute(params![seq, attempt, i64::from(!seen)]),
                Ending::Retry { reason, delay } => {
                    let ready_at = self.now() + i64::try_from(delay.as_millis()).unwrap_or(i64::MAX / 2);
                    let Some(history) = self.history_with(seq, attempt, reason)? else { return Ok(0) };
                    self.connection
                        .prepare_cached(
                            "UPDATE message SET lease_until = NULL, ready_at = ?3, history = ?4
                             WHERE seq = ?1 AND attempt = ?2",
                        )?
                        .execute(params![seq, attempt, ready_at, history])
                }
                Ending::Dead { reason } => {
                    let Some(history) = self.history_with(seq, attempt, reason)? else { return Ok(0) };
                    self.connection.execute(
                        "INSERT INTO dead SELECT seq, queue, id, schema, tenant, occurred_at, trace_context,
                             payload, attempt, ?2, ?3 FROM message WHERE seq = ?1",
                        params![seq, history, self.now()],
                    )?;
                    self.connection.execute("DELETE FROM message WHERE seq = ?1", [seq])
                }
            }
        };
        match settle().map_err(|e| unavailable(&e))? {
            0 => Err(BusError::NotHeld(format!("message {seq}, attempt {attempt}"))),
            _ => Ok(()),
        }
    }

    /// The history with one more reason, when the lease is still held.
    fn history_with(&self, seq: i64, attempt: u32, reason: &str) -> rusqlite::Result<Option<String>> {
        let stored: Option<String> = self
            .connection
            .prepare_cached(
                "SELECT history FROM message WHERE seq = ?1 AND attempt = ?2 AND lease_until IS NOT NULL",
            )?
            .query_row(params![seq, attempt], |r| r.get(0))
            .optional()?;
        Ok(stored.map(|stored| {
            let mut history: Vec<String> = serde_json::from_str(&stored).unwrap_or_default();
            add_reason(&mut history, reason);
            serde_json::to_string(&history).unwrap_or_default()
        }))
    }

    pub(crate) fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        let now = self.now();
        let stats = || -> rusqlite::Result<QueueStats> {
            let (ready, delayed, unsettled, oldest) = self.connection.query_row(
                "SELECT count(*) FILTER (WHERE lease_until IS NULL AND ready_at <= ?2),
                        count(*) FILTER (WHERE lease_until IS NULL AND ready_at > ?2),
                        count(*) FILTER (WHERE lease_until IS NOT NULL),
                        min(ready_at) FILTER (WHERE lease_until IS NULL AND ready_at <= ?2)
                 FROM message WHERE queue = ?1",
                params![queue.name(), now],
                |r| Ok((count(r, 0)?, count(r, 1)?, count(r, 2)?, r.get::<_, Option<i64>>(3)?)),
            )?;
            let (dead, oldest_dead) = self.connection.query_row(
                "SELECT count(*), min(died_at) FROM dead WHERE queue = ?1",
                [queue.name()],
                |r| Ok((count(r, 0)?, r.get::<_, Option<i64>>(1)?)),
            )?;
            let [oldest, oldest_dead] = [oldest, oldest_dead]
                .map(|t| t.map(|t| Duration::from_millis(u64::try_from(now - t).unwrap_or(0))));
            Ok(QueueStats { ready, delayed, unsettled, dead, oldest, oldest_dead })
        };
        stats().map_err(|e| unavailable(&e))
    }

    fn depth(&self, queue: Queue) -> rusqlite::Result<u64> {
        self.connection
            .prepare_cached("SELECT count(*) FROM message WHERE queue = ?1")?
            .query_row([queue.name()], |r| count(r, 0))
    }
}

/// SQLite counts in i64.
fn count(r: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(r.get::<_, i64>(column)?.unsigned_abs())
}

fn leased(r: &Row<'_>) -> rusqlite::Result<Leased> {
    Ok(Leased { seq: r.get(0)?, attempt: r.get(1)?, envelope: envelope(r)? })
}

/// Columns 2 to 7 of every select above.
pub(crate) fn envelope(r: &Row<'_>) -> rusqlite::Result<Envelope> {
    fn bad(column: usize, e: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    }
    let context: String = r.get(6)?;
    Ok(Envelope {
        id: Uuid::from_slice(&r.get::<_, Vec<u8>>(2)?).map_err(|e| bad(2, e))?,
        schema: r.get(3)?,
        tenant: TenantId::new(r.get::<_, String>(4)?).map_err(|e| bad(4, e))?,
        occurred_at: r.get::<_, String>(5)?.parse::<Timestamp>().map_err(|e| bad(5, e))?,
        trace_context: serde_json::from_str::<BTreeMap<_, _>>(&context).map_err(|e| bad(6, e))?,
        payload: r.get(7)?,
    })
}
