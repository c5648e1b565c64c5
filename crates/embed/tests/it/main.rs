#![allow(clippy::unwrap_used)]

mod contract;
mod directory;
mod support;
