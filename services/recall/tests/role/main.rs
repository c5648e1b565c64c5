//! The role over a real store, called through its gRPC services.

mod common;
mod memory;
mod recall;
