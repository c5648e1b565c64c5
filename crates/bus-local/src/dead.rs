//! The letters that are dead. An id of `None` means all of a queue.

use hindsight_ports::{BusError, DeadLetter, Queue};
use hindsight_types::Timestamp;
use rusqlite::{Row, params};
use uuid::Uuid;

use crate::database::{Database, envelope, unavailable};

impl Database {
    /// Newest first.
    pub(crate) fn dead_letters(
        &self,
        queue: Queue,
        id: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let letters = || -> rusqlite::Result<Vec<DeadLetter>> {
            self.connection
                .prepare_cached(
                    "SELECT seq, attempt, id, schema, tenant, occurred_at, trace_context, payload, history,
                         died_at FROM dead WHERE queue = ?1 AND (?2 IS NULL OR id = ?2)
                     ORDER BY died_at DESC, seq DESC LIMIT ?3",
                )?
                .query_map(params![queue.name(), id.map(Uuid::into_bytes), limit], |r| dead_letter(r, queue))?
                .collect()
        };
        letters().map_err(|e| unavailable(&e))
    }

    /// Puts letters at the end of their queue; says how many.
    pub(crate) fn replay(&self, queue: Queue, id: Option<Uuid>) -> Result<u64, BusError> {
        self.connection
            .execute(
                "INSERT INTO message (queue, id, schema, tenant, occurred_at, trace_context, payload, history, ready_at)
                 SELECT queue, id, schema, tenant, occurred_at, trace_context, payload, history, ?3
                 FROM dead WHERE queue = ?1 AND (?2 IS NULL OR id = ?2) ORDER BY died_at, seq",
                params![queue.name(), id.map(Uuid::into_bytes), self.now()],
            )
            .map_err(|e| unavailable(&e))?;
        self.discard(queue, id)
    }

    pub(crate) fn discard(&self, queue: Queue, id: Option<Uuid>) -> Result<u64, BusError> {
        let gone = self
            .connection
            .execute(
                "DELETE FROM dead WHERE queue = ?1 AND (?2 IS NULL OR id = ?2)",
                params![queue.name(), id.map(Uuid::into_bytes)],
            )
            .map_err(|e| unavailable(&e))?;
        Ok(gone as u64)
    }
}

fn dead_letter(r: &Row<'_>, queue: Queue) -> rusqlite::Result<DeadLetter> {
    let history: Vec<String> = serde_json::from_str(&r.get::<_, String>(8)?).unwrap_or_default();
    Ok(DeadLetter {
        envelope: envelope(r)?,
        queue,
        attempts: r.get(1)?,
        reason: history.last().cloned().unwrap_or_default(),
        history,
        died_at: Timestamp::from_millisecond(r.get(9)?).unwrap_or(Timestamp::UNIX_EPOCH),
    })
}
