use std::error::Error;

use hindsight_ports::StoreError;
use tonic::{Code, ConnectError, Status, TimeoutExpired};

/// A call that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) error: StoreError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No connection: the server has not seen the call.
    Unsent,
    /// The server is not there for it now, or the connection broke. It may have been done.
    Broken,
    /// The server says that there is no such thing.
    Missing,
    /// Trying again at once would not help.
    Final,
}

impl Failure {
    pub(crate) fn unavailable(problem: String) -> Self {
        Self { kind: Kind::Final, error: StoreError::Unavailable(problem) }
    }

    /// What `status` says about the call `name` to `server`.
    ///
    /// Only what is wrong with the request itself is `Rejected`: a caller gives such a request up. A wrong key or
    /// an error inside the server is no fault of the request, which must outlive it.
    pub(crate) fn of(name: &str, server: &str, status: &Status) -> Self {
        let kind = kind(status);
        let said = chain(status);
        let error = match status.code() {
            _ if matches!(kind, Kind::Unsent | Kind::Broken) => {
                StoreError::Unavailable(format!("Qdrant at {server}: {name}: {said}"))
            }
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange => StoreError::Rejected(format!("{name}: {said}")),
            Code::Unauthenticated | Code::PermissionDenied => StoreError::Unavailable(format!(
                "Qdrant at {server} refuses {name} ({said}); check the API key and what it may do"
            )),
            Code::Unimplemented => StoreError::Unavailable(format!(
                "{server} does not know {name} ({said}); is it Qdrant's gRPC port, 6334?"
            )),
            code => StoreError::Unavailable(format!("Qdrant at {server}: {name}: {code:?}: {said}")),
        };
        Self { kind, error }
    }
}

fn kind(status: &Status) -> Kind {
    // Statuses that come from the server have no source; those made on this side do.
    match status.source() {
        Some(cause) if causes(Some(cause)).any(|e| e.is::<ConnectError>()) => Kind::Unsent,
        Some(cause) if causes(Some(cause)).any(|e| e.is::<TimeoutExpired>()) => Kind::Final,
        Some(_) => Kind::Broken,
        None => match status.code() {
            Code::Unavailable => Kind::Broken,
            Code::NotFound => Kind::Missing,
            _ => Kind::Final,
        },
    }
}

type Cause<'a> = &'a (dyn Error + 'static);

fn causes(first: Option<Cause<'_>>) -> impl Iterator<Item = Cause<'_>> {
    std::iter::successors(first, |cause: &Cause<'_>| (*cause).source())
}

/// The message with those of its causes, each once.
fn chain(status: &Status) -> String {
    let mut said = vec![status.message().to_owned()];
    for cause in causes(status.source()) {
        let cause = cause.to_string();
        if !said.iter().any(|s| s.contains(&cause)) {
            said.push(cause);
        }
    }
    said.retain(|s| !s.is_empty());
    said.join(": ")
}

#[cfg(test)]
mod tests;
