//! The edge of every service: who calls, what they may do, how an error looks on the wire, and one line of
//! log per call. A call in the same process and a call over a socket pass the same [`EdgeLayer`].
//!
//! A service begins each method with
//! `let caller = hindsight_api::caller(&request)?; caller.require(Permission::Read)?;`
//! and turns its errors into statuses with [`status`].

mod auth;
mod edge;
mod methods;
mod page;
pub mod status;
mod trace;

pub use auth::{
    BadKeyHash, Caller, DEFAULT_TENANT, Key, KeyHash, Keyring, Permission, Permissions, UnknownPermission,
    caller,
};
pub use edge::{Edge, EdgeLayer, OTLP_PATH, Refusal, is_open_path};
pub use page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, deadline, page};
pub use trace::TracedBody;
