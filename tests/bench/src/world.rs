//! A simulated world of operations: services, disks, deployments and databases that break for hidden causes, in two
//! environments, and an agent with no model that repairs them. Everything follows from a seed; nothing here does I/O.

pub(crate) mod advice;
pub(crate) mod agent;
pub(crate) mod catalog;
pub(crate) mod ears;
mod faults;
pub(crate) mod logs;
mod names;
mod scene;
pub(crate) mod task;

#[cfg(test)]
mod tests;
