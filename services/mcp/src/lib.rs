//! Memory for clients of the Model Context Protocol: a server that recalls and retains, and a proxy between a
//! client and any other server.

mod memory;
pub mod proxy;
pub mod server;

pub use memory::Memory;
