//! Conformance suites and fault-injecting wrappers.
