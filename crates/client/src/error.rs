use std::{collections::BTreeMap, error::Error as _, fmt, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// A client cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error("`{endpoint}` is not the address of a server: {problem}; give http://HOST:PORT")]
    Endpoint { endpoint: String, problem: String },
    #[error("the API key contains characters that a header cannot carry")]
    Key,
}

/// A field that the server refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Dotted path, as in `trajectory.steps[3].action_name`.
    pub field: String,
    pub problem: String,
}

/// A call that failed, with what the server said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: Code,
    /// Stable, UPPER_SNAKE; empty when it did not come from the service.
    pub reason: String,
    pub message: String,
    pub violations: Vec<Violation>,
    pub metadata: BTreeMap<String, String>,
    /// When the server wants to be asked again.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Nothing happened in the time the call had.
    pub(crate) fn deadline(method: &str, after: Duration) -> Self {
        Self {
            code: Code::DeadlineExceeded,
            reason: "DEADLINE_EXCEEDED".to_owned(),
            message: format!("{method} did not answer within {} s", after.as_secs_f32()),
            violations: Vec::new(),
            metadata: BTreeMap::new(),
            retry_after: None,
        }
    }

    /// Something that was sent on a stream is wrong.
    pub(crate) fn invalid(reason: String, message: String) -> Self {
        Self {
            code: Code::InvalidArgument,
            reason,
            message,
            violations: Vec::new(),
            metadata: BTreeMap::new(),
            retry_after: None,
        }
    }

    /// Whether the same call may succeed later. RESOURCE_EXHAUSTED counts only when the server says when.
    pub fn is_transient(&self) -> bool {
        match self.code {
            Code::Unavailable => true,
            Code::ResourceExhausted => self.retry_after.is_some(),
            _ => false,
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let (reason, metadata) = details
            .error_info()
            .map(|i| (i.reason.clone(), i.metadata.clone().into_iter().collect()))
            .unwrap_or_default();
        let violations = details.bad_request().map_or_else(Vec::new, |b| {
            let violation = |v: &tonic_types::FieldViolation| Violation {
                field: v.field.clone(),
                problem: v.description.clone(),
            };
            b.field_violations.iter().map(violation).collect()
        });
        Self {
            code: code(&status),
            reason,
            message: message(&status),
            violations,
            metadata,
            retry_after: details.retry_info().and_then(|r| r.retry_delay),
        }
    }
}

/// A status with a cause was made on this side: the connection broke, before or within the answer. What the
/// server did is unknown then, and it may well do it when asked again.
fn code(status: &Status) -> Code {
    match status.code() {
        Code::Unknown | Code::Internal | Code::Cancelled if status.source().is_some() => Code::Unavailable,
        code => code,
    }
}

/// The message with its causes: a lost connection says why only there.
fn message(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = status.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = if text.is_empty() { more } else { format!("{text}: {more}") };
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.violations.is_empty() {
            return if self.message.is_empty() {
                write!(f, "{:?}", self.code)
            } else {
                f.write_str(&self.message)
            };
        }
        for (i, v) in self.violations.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", v.field, v.problem)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use super::*;

    #[test]
    fn a_call_that_this_side_gave_up_because_the_connection_closed_is_made_again() {
        for told in [Code::Unknown, Code::Internal, Code::Cancelled] {
            let mut broken = Status::new(told, "operation was canceled");
            assert!(!Error::from(broken.clone()).is_transient(), "the server said {told:?}");
            broken.set_source(Arc::new(io::Error::other("connection closed")));
            assert!(Error::from(broken).is_transient(), "{told:?}");
        }
    }
}
