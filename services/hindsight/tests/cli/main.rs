//! The built binary from end to end.

mod memory;
mod process;
mod support;
