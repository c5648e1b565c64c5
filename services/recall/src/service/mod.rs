//! The gRPC services of the role.

mod archive;
mod conflicts;
mod deletion;
mod diagnosis;
mod explain;
mod history;
mod lesson;
mod memory;
mod provenance;
mod recall;
mod select;
mod subjects;
mod transfer;

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

fn admin<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = caller(request)?;
    caller.require(Permission::Admin)?;
    Ok(caller)
}

/// Length of a UUID in text.
const REQUEST_ID_BYTES: usize = 36;

fn request_id(id: &str) -> Result<(), Invalid> {
    if id.len() <= REQUEST_ID_BYTES && id.is_ascii() {
        return Ok(());
    }
    let problem = format!("is no UUID; at most {REQUEST_ID_BYTES} characters of ASCII are accepted");
    Err(Invalid::new("request_id", problem))
}

fn invalid(e: Invalid) -> Status {
    hindsight_api::status::invalid(NAME, &e)
}

fn store(e: hindsight_ports::StoreError) -> Status {
    hindsight_api::status::store(NAME, e)
}
