//! Conformance suites, for the tests of adapters.

pub mod backend;
