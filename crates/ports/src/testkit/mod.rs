//! Conformance suites and fault-injecting wrappers.

pub mod bus;
pub mod bus_broadcast;
mod faulty_bus;
pub mod faulty_store;
pub mod llm;
pub mod mortal;
pub mod samples;
pub mod store;
pub mod upkeep;
