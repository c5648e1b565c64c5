//! Hindsight's cluster store: `hindsight_store::VectorBackend`, Qdrant's protobuf messages, sent to a Qdrant
//! server (1.16 or later) by gRPC.
//!
//! # Which client
//!
//! The messages and the generated gRPC clients are those of `qdrant-client`. Its `Qdrant` type is not used: it
//! sends a call again on its own whenever the first attempt broke or timed out, conditional writes among them,
//! and so doubles both the time a call may take and the load on a slow server.
//!
//! # What is sent again
//!
//! | what happened | reads, plain writes | conditional writes |
//! |---|---|---|
//! | no connection could be made | again | again |
//! | the server said `UNAVAILABLE`, or the connection broke | again | `Unavailable` |
//! | anything else, a call that took too long among it | error | error |
//!
//! A plain write sets what it sets however often it is done. A conditional write that was done and whose answer
//! was lost is another matter: between the two the point may have been deleted, and the second would bring it
//! back. Whoever writes on a condition looks at what came of it anyway.
//!
//! A call with all its attempts ends within [`QdrantOptions::timeout`].
//!
//! # What is durable when
//!
//! Every write waits until the server has applied it; an answer that says less is an error. With more than one
//! replica, conditional writes go through the leader of their shard, so that all replicas decide alike.

mod backend;
mod connection;
mod failure;
mod layout;
mod options;
mod version;

pub use backend::QdrantBackend;
pub use layout::{CollectionLayout, Quantization};
pub use options::QdrantOptions;
