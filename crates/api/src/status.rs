//! Errors as clients see them: a canonical code and `google.rpc` details, with exactly one `ErrorInfo`
//! (AIP-193). Reasons are stable; messages may change. Domains are `hindsight.<service>`.

use std::{collections::HashMap, fmt::Display, time::Duration};

use hindsight_ports::{BusError, EmbedError, StoreError};
use hindsight_types::{Invalid, limits};
use http::StatusCode;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::Permission;

/// Reason of every refusal of fields; also used in per-item rejections of streams and batches.
pub const INVALID_FIELDS: &str = "INVALID_FIELDS";

/// After which a caller may try again what failed for now.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A status travels in HTTP headers, and peers accept no more than 16 KiB of them by default. Text that
/// is not ASCII takes three times its size.
const MESSAGE_BYTES: usize = 1024;
const DETAIL_BYTES: usize = 4096;

type Metadata = HashMap<String, String>;

/// A status with its one `ErrorInfo`. For the cases that none of the functions below covers.
pub fn error<const N: usize>(
    service: &str,
    code: Code,
    reason: &str,
    message: impl Into<String>,
    metadata: [(&str, String); N],
) -> Status {
    let metadata = metadata.into_iter().map(|(k, v)| (k.to_owned(), clip(v, limits::ID_BYTES * 4))).collect();
    with_details(service, code, reason, message.into(), metadata, ErrorDetails::new())
}

fn with_details(
    service: &str,
    code: Code,
    reason: &str,
    message: String,
    metadata: Metadata,
    mut details: ErrorDetails,
) -> Status {
    details.set_error_info(reason, format!("hindsight.{service}"), metadata);
    Status::with_error_details(code, clip(message, MESSAGE_BYTES), details)
}

/// INVALID_ARGUMENT naming every field (as many as fit) in a `BadRequest`.
pub fn invalid(service: &str, invalid: &Invalid) -> Status {
    let mut room = DETAIL_BYTES;
    let mut violations = Vec::new();
    for e in &invalid.fields {
        let violation = FieldViolation::new(clip(e.field.clone(), 256), clip(e.problem.clone(), 512));
        let size = violation.field.len() + violation.description.len();
        if size > room {
            break;
        }
        room -= size;
        violations.push(violation);
    }
    let fields = violations.iter().map(|v| v.field.as_str()).collect::<Vec<_>>().join(", ");
    let omitted = invalid.fields.len() - violations.len();
    let metadata = Metadata::from([
        ("fields".to_owned(), clip(fields, MESSAGE_BYTES)),
        ("omitted".to_owned(), omitted.to_string()),
    ]);
    let mut details = ErrorDetails::new();
    details.set_bad_request(violations);
    with_details(service, Code::InvalidArgument, INVALID_FIELDS, invalid.to_string(), metadata, details)
}

/// NOT_FOUND with a `ResourceInfo`. `kind` is what was looked for: `memory`, `trajectory`, `receipt`.
pub fn not_found(service: &str, kind: &str, id: impl Display) -> Status {
    let id = clip(id.to_string(), limits::ID_BYTES * 4);
    let reason = format!("{}_NOT_FOUND", kind.to_uppercase().replace([' ', '-'], "_"));
    let message = format!("no {kind} `{id}` that this caller can see");
    let metadata = Metadata::from([("kind".to_owned(), kind.to_owned()), ("id".to_owned(), id.clone())]);
    let mut details = ErrorDetails::new();
    details.set_resource_info(kind, id, "", "");
    with_details(service, Code::NotFound, &reason, message, metadata, details)
}

/// What the store could not do. Reasons that may name places on disk are logged, not sent.
pub fn store(service: &str, error: StoreError) -> Status {
    match error {
        StoreError::Unavailable(why) => unavailable(service, "STORE_UNAVAILABLE", "the store", &why),
        StoreError::Corrupt(why) => {
            hidden(service, Code::DataLoss, "RECORD_UNREADABLE", "a stored record cannot be read", &why)
        }
        StoreError::Rejected(why) => refused(service, "STORE_REJECTED", "the store", why),
    }
}

/// What the bus could not do.
pub fn bus(service: &str, error: BusError) -> Status {
    match error {
        BusError::Unavailable(why) => unavailable(service, "BUS_UNAVAILABLE", "the bus", &why),
        BusError::Closed => unavailable(service, "SHUTTING_DOWN", "the bus", "it is closed"),
        BusError::Full { queue, depth } => {
            let metadata =
                [("queue", queue.name()), ("depth", &depth.to_string())].map(|(k, v)| (k.into(), v.into()));
            let mut details = ErrorDetails::new();
            details.set_retry_info(Some(RETRY_DELAY));
            let message = format!("queue {queue} is full ({depth} messages); slow down and try again");
            with_details(service, Code::ResourceExhausted, "QUEUE_FULL", message, metadata.into(), details)
        }
        BusError::Rejected(why) => refused(service, "MESSAGE_REJECTED", "the bus", why),
        BusError::NotHeld(why) => {
            hidden(service, Code::Aborted, "DELIVERY_NOT_HELD", "the work went to another worker", &why)
        }
    }
}

/// What the embedder could not do.
pub fn embed(service: &str, error: EmbedError) -> Status {
    match error {
        EmbedError::Unavailable(why) => unavailable(service, "EMBEDDER_UNAVAILABLE", "the embedder", &why),
        EmbedError::Rejected(why) => refused(service, "EMBEDDER_REJECTED", "the embedder", why),
        EmbedError::Misconfigured(why) => hidden(
            service,
            Code::FailedPrecondition,
            "EMBEDDER_MISCONFIGURED",
            "the embedder cannot be used; the operator must correct [embedder]",
            &why,
        ),
    }
}

/// UNAVAILABLE with the time after which to try again. `reason` is the stable word for it.
pub fn away(service: &str, reason: &str, message: impl Into<String>, after: Duration) -> Status {
    let mut details = ErrorDetails::new();
    details.set_retry_info(Some(after));
    with_details(service, Code::Unavailable, reason, message.into(), Metadata::new(), details)
}

/// RESOURCE_EXHAUSTED with the time after which to try again. `reason` is the stable word for it.
pub fn exhausted(service: &str, reason: &str, message: impl Into<String>, after: Duration) -> Status {
    let mut details = ErrorDetails::new();
    details.set_retry_info(Some(after));
    with_details(service, Code::ResourceExhausted, reason, message.into(), Metadata::new(), details)
}

/// DEADLINE_EXCEEDED: `what` did not happen in the time the caller gave. What is durable stays so.
pub fn deadline_exceeded(service: &str, what: &str) -> Status {
    let message = format!("{what} before the deadline; ask again or give more time");
    error(service, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", message, [])
}

/// INTERNAL. The cause goes to the log; the caller gets the id under which it is found there.
pub fn internal(service: &str, cause: impl Display) -> Status {
    hidden(service, Code::Internal, "INTERNAL", "something went wrong inside", &cause.to_string())
}

pub(crate) fn unauthenticated(reason: &str, message: &str) -> Status {
    error("auth", Code::Unauthenticated, reason, message, [])
}

pub(crate) fn permission_denied(key: &str, missing: Permission) -> Status {
    let message = format!("the key `{key}` lacks permission `{missing}`; ask the operator to add it");
    let metadata = [("key", key.to_owned()), ("permission", missing.to_string())];
    error("auth", Code::PermissionDenied, "PERMISSION_MISSING", message, metadata)
}

/// As HTTP says it to a caller that does not speak gRPC.
pub fn http_code(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound | Code::Unimplemented => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Cancelled | Code::Unknown | Code::Internal | Code::DataLoss => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// How an answer in plain HTTP is counted.
pub(crate) fn code_of(status: StatusCode) -> Code {
    match status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        s if s.is_success() => Code::Ok,
        s if s.is_client_error() => Code::InvalidArgument,
        _ => Code::Internal,
    }
}

fn unavailable(service: &str, reason: &str, what: &str, why: &str) -> Status {
    tracing::warn!(service, reason, why, "{what} is unavailable");
    let mut details = ErrorDetails::new();
    details.set_retry_info(Some(RETRY_DELAY));
    let message = format!("{what} does not answer; try again");
    with_details(service, Code::Unavailable, reason, message, Metadata::new(), details)
}

fn refused(service: &str, reason: &str, what: &str, why: String) -> Status {
    let message = format!("{what} refused the request: {why}");
    error(service, Code::InvalidArgument, reason, message, [("cause", why)])
}

/// The cause may name places on disk or addresses within: it is logged under an id, and the id is sent.
fn hidden(service: &str, code: Code, reason: &str, message: &str, cause: &str) -> Status {
    let incident = uuid::Uuid::now_v7().to_string();
    tracing::error!(service, reason, incident, cause, "{message}");
    let message = format!("{message}; the log has it under incident {incident}");
    error(service, code, reason, message, [("incident", incident)])
}

fn clip(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        let mut end = bytes.saturating_sub('…'.len_utf8());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
