//! A process that is killed at one of its calls to the outside: the call was made or it was not, and nothing of the
//! process happens afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::{Future, pending},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use hindsight_types::{
    CompactionRun, CompactionRunId, CompactionTask, CompactionTaskId, EvaluationRecord, Frequency, Memory,
    MemoryId, MemoryKind, Policy, TaskCounts, TaskType, TenantId, Timestamp, TraceId,
};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    Bus, BusError, Compactions, Consumer, DeadLetter, Envelope, Leadership, Listener, Page, PageRequest,
    Queue, QueueStats, StoreError, Upkeep,
};

/// What is left of a process.
#[derive(Debug)]
pub struct Life {
    calls: AtomicU64,
    last: u64,
    made: bool,
    died: Notify,
}

impl Life {
    /// Dies at its call number `last`, counted from 1, when that was `made` or before it is.
    pub fn ending_at(last: u64, made: bool) -> Arc<Self> {
        Arc::new(Self { calls: AtomicU64::new(0), last, made, died: Notify::new() })
    }

    /// Calls that were begun.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Does `work` until it is done or the process dies; then everything of it is dropped. `None`: it died.
    pub async fn live<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.died.notified() => None,
            done = work => Some(done),
        }
    }

    async fn call<T>(&self, work: impl Future<Output = T>) -> T {
        let n = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if n > self.last || (n == self.last && !self.made) {
            return self.die().await;
        }
        let done = work.await;
        if n == self.last {
            return self.die().await;
        }
        done
    }

    async fn die<T>(&self) -> T {
        self.died.notify_one();
        pending().await
    }
}

macro_rules! mortal {
    ($name:ident, $port:ident { $($method:ident($($arg:ident: $ty:ty),*) -> $done:ty;)+ }) => {
        /// The port as a process with this life has it.
        #[derive(Clone)]
        pub struct $name {
            pub inner: Arc<dyn $port>,
            pub life: Arc<Life>,
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("life", &self.life).finish_non_exhaustive()
            }
        }

        #[async_trait]
        impl $port for $name {
            $(async fn $method(&self, $($arg: $ty),*) -> Result<$done, StoreError> {
                self.life.call(self.inner.$method($($arg),*)).await
            })+
        }
    };
}

mortal!(MortalUpkeep, Upkeep {
    tenants() -> Vec<TenantId>;
    memories(tenant: &TenantId, kind: MemoryKind, page: &PageRequest) -> Page<Memory>;
    memories_of(tenant: &TenantId, kind: MemoryKind, ids: &[MemoryId]) -> Vec<Memory>;
    old_runs(tenant: &TenantId, before: Timestamp, page: &PageRequest) -> Page<TraceId>;
    events_since(tenant: &TenantId, traces: &[TraceId], since: Timestamp) -> BTreeMap<TraceId, u64>;
    count_old_events(tenant: &TenantId, before: Timestamp) -> u64;
    delete_events(tenant: &TenantId, traces: &[TraceId]) -> u64;
    evaluations(tenant: &TenantId, traces: &[TraceId]) -> Vec<EvaluationRecord>;
    open_of(tenant: &TenantId, traces: &[TraceId]) -> BTreeSet<TraceId>;
    count_alike(tenant: &TenantId, task_type: Option<&TaskType>, goal: &str) -> u64;
    reads(tenant: &TenantId, memories: &[MemoryId], since: Timestamp) -> BTreeMap<MemoryId, u64>;
    ends(tenant: &TenantId, traces: &[TraceId]) -> BTreeMap<TraceId, Timestamp>;
    put_frequency(tenant: &TenantId, pattern: MemoryId, frequency: Frequency) -> bool;
});

mortal!(MortalCompactions, Compactions {
    put_run(next: &CompactionRun) -> bool;
    run(tenant: &TenantId, id: CompactionRunId) -> Option<CompactionRun>;
    runs(tenant: &TenantId, policy: Option<Policy>, page: &PageRequest) -> Page<CompactionRun>;
    open_runs(page: &PageRequest) -> Page<CompactionRun>;
    add_tasks(tasks: &[CompactionTask]) -> ();
    task(tenant: &TenantId, id: CompactionTaskId) -> Option<CompactionTask>;
    tasks(tenant: &TenantId, run: CompactionRunId, open_only: bool, page: &PageRequest) -> Page<CompactionTask>;
    end_task(task: &CompactionTask) -> ();
    count_tasks(tenant: &TenantId, run: CompactionRunId) -> TaskCounts;
    expire_runs(before: Timestamp) -> u64;
});

/// The bus as a process with this life has it: publishing and counting are calls, and the rest is the broker's.
#[derive(Clone)]
pub struct MortalBus {
    pub inner: Arc<dyn Bus>,
    pub life: Arc<Life>,
}

impl fmt::Debug for MortalBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MortalBus").field("life", &self.life).finish_non_exhaustive()
    }
}

#[async_trait]
impl Bus for MortalBus {
    async fn publish(&self, queue: Queue, messages: Vec<Envelope>) -> Result<(), BusError> {
        self.life.call(self.inner.publish(queue, messages)).await
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        self.inner.subscribe(queue, prefetch).await
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.life.call(self.inner.stats(queue)).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.inner.dead_letters(queue, limit).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        self.inner.dead_letter(queue, id).await
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.inner.replay(queue, id).await
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.inner.replay_all(queue).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.inner.discard(queue, id).await
    }

    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        self.inner.broadcast(message).await
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        self.inner.listen().await
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        self.inner.lead(name).await
    }

    fn ready(&self) -> Result<(), BusError> {
        self.inner.ready()
    }
}
