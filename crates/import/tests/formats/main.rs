//! Every format on small samples of its shape.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod detection;
mod hostile;
mod live;
mod sessions;
mod support;
mod traces;
mod twice;
