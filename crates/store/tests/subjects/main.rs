//! What happens to facts over time: every version is kept, whoever races; and an anonymous id merges into a user and
//! back, whatever breaks off and whoever writes meanwhile.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../common/mod.rs"]
mod common;
mod crash;
#[path = "../reembed/faulty.rs"]
mod faulty;
mod history;
mod property;
mod world;
