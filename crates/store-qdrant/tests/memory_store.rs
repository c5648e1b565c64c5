//! The store over a Qdrant server passes the suite of its port.

mod common;

hindsight_ports::memory_store_suite!(common::open());
