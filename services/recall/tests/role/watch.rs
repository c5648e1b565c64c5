//! The memory that speaks up, over its stream.

mod feedback;
mod limits;
mod stream;
mod triggers;
