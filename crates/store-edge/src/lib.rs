//! Hindsight's embedded vector database: `hindsight_store::VectorBackend`, Qdrant's protobuf messages,
//! executed in-process by the `qdrant-edge` engine.
//!
//! # What is durable when
//!
//! The engine makes nothing durable before it is flushed, a flush takes hundreds of milliseconds, and it
//! does not read its own log when it is opened. So every collection has a journal of its own: a write is
//! appended to it, applied to the engine, and **acknowledged once the journal is synced**. Writes that wait
//! share one sync. The engine is flushed when there is nothing to do or the journal has grown, and the
//! journal is emptied after that. Opening a collection applies its journal to what the engine had flushed.
//! A write that was not acknowledged may or may not be there after a crash, but never in part of a point.
//!
//! # Threads
//!
//! One thread owns each collection: it alone writes, flushes, closes and reopens the shard, and it decides
//! conditional writes, which makes them atomic. Reads run beside it on blocking threads. Segments are
//! indexed on a thread of their own, one collection at a time, while reads and writes go on.
//!
//! # Deleting
//!
//! The engine marks what is deleted and leaves its bytes. `VectorBackend::vacuum` makes a new shard of what is there,
//! beside reads and writes, which then takes the place of the old one; twice the space is needed meanwhile.
//!
//! A panic in the engine is answered with `Unavailable`; the shard is then opened anew.

mod backend;
mod collection;
mod convert;
mod engine;
mod files;
mod journal;
mod refuse;

pub use backend::{EdgeBackend, EdgeOptions};
