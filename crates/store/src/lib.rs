//! The domain's store over a vector database: `MemoryStore` in Qdrant's protobuf messages.
//! Implemented once, here; adapters below (`store-edge`, `store-qdrant`) only execute the messages.

mod backend;

pub use backend::{Scrolled, VectorBackend};
