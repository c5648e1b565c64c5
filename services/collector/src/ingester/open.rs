//! Which tasks are under way, written beside their events so that someone can notice when nothing more
//! comes of one. A task is marked when its first event arrives, again now and then, and cleared when it
//! ends. A mark that is late or left over does no harm: whoever reads it looks at the events.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hindsight_ports::{MemoryStore, StoreError};
use hindsight_types::{Event, EventBody, OpenTask, Scope, TenantId, Timestamp, TraceId};

/// Tasks whose last mark is remembered. When there are more, some are marked more often than needed.
const TASKS: usize = 20_000;

type Task = (TenantId, TraceId);

/// When this process last marked each task.
#[derive(Debug, Default)]
pub(super) struct Marked(Mutex<HashMap<Task, Timestamp>>);

/// What a batch of events says about tasks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    open: Vec<OpenTask>,
    ended: Vec<Task>,
}

/// What the batch has of one task.
#[derive(Default)]
struct Seen<'a> {
    started: Option<&'a Scope>,
    any: Option<&'a Scope>,
    ended: bool,
}

impl Marked {
    /// What must be written for these events. A task that begins and ends within them needs nothing.
    pub(super) fn due(&self, events: &[Event], now: Timestamp, every: Duration) -> Marks {
        let mut tasks: BTreeMap<(&TenantId, &TraceId), Seen<'_>> = BTreeMap::new();
        for event in events {
            let seen = tasks.entry((&event.scope.tenant, &event.trace_id)).or_default();
            seen.any = Some(&event.scope);
            match event.body {
                EventBody::Started(_) => seen.started = Some(&event.scope),
                EventBody::Completed(_) => seen.ended = true,
                // Some may come late, so someone looks again even when the root was there.
                EventBody::Step(_) | EventBody::Span(_) => {}
            }
        }
        let marked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marks = Marks::default();
        for ((tenant, trace), seen) in tasks {
            let task = (tenant.clone(), trace.clone());
            let last = marked.get(&task);
            if seen.ended {
                if seen.started.is_none() || last.is_some() {
                    marks.ended.push(task);
                }
            } else if let Some(scope) = seen.started.or(seen.any)
                && last.is_none_or(|at| now.duration_since(*at).unsigned_abs() >= every)
            {
                marks.open.push(OpenTask { trace_id: task.1, scope: scope.clone(), touched_at: now });
            }
        }
        marks
    }

    /// Remembers what was written.
    pub(super) fn note(&self, marks: &Marks) {
        let mut marked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if marked.len() > TASKS {
            marked.clear();
        }
        for t in &marks.open {
            marked.insert((t.scope.tenant.clone(), t.trace_id.clone()), t.touched_at);
        }
        for task in &marks.ended {
            marked.remove(task);
        }
    }
}

impl Marks {
    pub(super) async fn write(&self, store: &dyn MemoryStore) -> Result<(), StoreError> {
        if !self.open.is_empty() {
            store.mark_open(&self.open).await?;
        }
        if !self.ended.is_empty() {
            store.clear_open(&self.ended).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
