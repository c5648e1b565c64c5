//! How a message that the engine cannot honour is turned down: by name, never by ignoring it.

use std::fmt::Display;

use hindsight_ports::StoreError;

/// `StoreError::Rejected` that names the field and what is wrong with it.
pub(crate) fn rejected(field: &str, problem: impl Display) -> StoreError {
    StoreError::Rejected(format!("{field}: {problem}"))
}

/// Refuses the first of `fields` that was given.
pub(crate) fn refuse(message: &str, fields: &[(&str, bool)]) -> Result<(), StoreError> {
    match fields.iter().find(|(_, given)| *given) {
        Some((field, _)) => Err(unsupported(&format!("{message}.{field}"))),
        None => Ok(()),
    }
}

pub(crate) fn unsupported(field: &str) -> StoreError {
    rejected(field, "not supported by the embedded engine; leave it unset")
}

/// A size from outside, refused when it is zero or above `max`.
pub(crate) fn bounded(field: &str, value: u64, max: u64) -> Result<usize, StoreError> {
    if value == 0 || value > max {
        return Err(rejected(field, format_args!("{value} is not between 1 and {max}")));
    }
    usize::try_from(value).map_err(|_| rejected(field, format_args!("{value} is too large")))
}
