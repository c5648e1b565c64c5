//! Conformance suites and fault-injecting wrappers.

pub mod bus;
mod faulty_bus;
pub mod faulty_store;
pub mod llm;
pub mod samples;
pub mod store;
