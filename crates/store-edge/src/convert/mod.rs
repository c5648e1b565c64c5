//! Qdrant's protobuf messages to the engine's types and back. Everything here is pure; every message is
//! taken apart field by field, so that a field added to the protocol is a compile error, not a silent gap.

pub(crate) mod filter;
pub(crate) mod index;
pub(crate) mod names;
pub(crate) mod point;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod select;
pub(crate) mod value;
