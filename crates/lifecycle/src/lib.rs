//! The life of a memory: which stage a lesson has reached by what runs and people say of it, and what upkeep has to
//! do. Pure: what is read and what is decided are values.

pub mod archive;
mod chance;
pub mod contradictions;
pub mod duplicates;
pub mod facts;
mod goal;
mod latest;
mod meaning;
pub mod plan;
mod restage;
pub mod rules;
#[cfg(test)]
mod samples;
pub mod stage;
mod uplift;

pub use restage::{Restaged, restage};
pub use stage::Standing;
pub use uplift::{Arm, Uplift};
