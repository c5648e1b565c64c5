//! The domain's store over a vector database: `MemoryStore` in Qdrant's protobuf messages.
//! Implemented once, here; adapters below (`store-edge`, `store-qdrant`) only execute the messages.

mod announce;
mod archive;
mod backend;
mod browse;
mod collection;
mod compactions;
mod field;
mod fields;
mod forget;
mod ledger;
mod merge;
mod open;
mod page;
mod point;
mod prepared;
mod receipts;
mod reencode;
mod schema;
mod scoped;
mod search;
mod session;
mod settle;
mod store;
mod stored;
mod subjects;
mod swap;
mod transfer;
mod upkeep;
mod vectors;
mod versions;
mod write;

#[cfg(feature = "testkit")]
pub mod testkit;

pub use announce::{Announced, Announcer};
pub use backend::{Scrolled, VectorBackend};
pub use store::{Store, StoreOptions};
