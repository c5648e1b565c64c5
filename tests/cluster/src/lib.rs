//! A whole cluster on this machine, of real processes: RabbitMQ, the Qdrant engine behind a socket and the
//! four roles, with a load on it and a ledger of what was acknowledged.

mod cluster;
mod load;
mod process;
mod verify;

pub use cluster::{Cluster, Node, Role, Shape};
pub use load::{Asked, Asking, Load};
pub use process::Process;
pub use verify::{Fault, Ledger, tell};
