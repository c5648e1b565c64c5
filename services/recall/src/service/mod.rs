//! The gRPC services of the role.

mod explain;
mod memory;
mod recall;

use hindsight_api::{Caller, Permission, caller};
use hindsight_types::Invalid;
use tonic::{Request, Status};

pub(crate) use memory::Memories;
pub(crate) use recall::Recalls;

use crate::NAME;

fn reader<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = caller(request)?;
    caller.require(Permission::Read)?;
    Ok(caller)
}

fn writer<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = caller(request)?;
    caller.require(Permission::Write)?;
    Ok(caller)
}

fn invalid(e: Invalid) -> Status {
    hindsight_api::status::invalid(NAME, &e)
}

fn store(e: hindsight_ports::StoreError) -> Status {
    hindsight_api::status::store(NAME, e)
}
