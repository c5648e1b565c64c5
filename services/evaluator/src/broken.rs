use std::{fmt::Display, time::Duration};

use hindsight_ports::{BusError, EmbedError, StoreError};

use crate::judges::Unjudged;

/// Why an attempt broke off.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Worth another try: after `wait`, where something says when.
    Transient {
        reason: String,
        wait: Option<Duration>,
    },
    Final(String),
}

impl Broken {
    fn transient(error: impl Display) -> Self {
        Self::Transient { reason: error.to_string(), wait: None }
    }
}

impl From<StoreError> for Broken {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Unavailable(_) => Self::transient(e),
            StoreError::Corrupt(_) | StoreError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl From<EmbedError> for Broken {
    fn from(e: EmbedError) -> Self {
        match e {
            EmbedError::Unavailable(_) | EmbedError::Misconfigured(_) => Self::transient(e),
            EmbedError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl From<BusError> for Broken {
    fn from(e: BusError) -> Self {
        match e {
            BusError::Rejected(_) => Self::Final(e.to_string()),
            _ => Self::transient(e),
        }
    }
}

impl From<Unjudged> for Broken {
    fn from(unjudged: Unjudged) -> Self {
        match unjudged {
            Unjudged::Later { reason, after } => Self::Transient { reason, wait: Some(after) },
            Unjudged::Never { reason } => Self::Final(reason),
        }
    }
}
