//! Why a process ends without success.

use std::fmt::Display;

use tonic::Code;

/// Exit codes, as in sysexits.h. Clap's usage errors are given `USAGE` as well.
pub mod code {
    pub const USAGE: u8 = 64;
    /// Input that is wrong: a broken record, a refused field.
    pub const DATA: u8 = 65;
    /// What was asked for is not there.
    pub const NO_INPUT: u8 = 66;
    pub const UNAVAILABLE: u8 = 69;
    pub const INTERNAL: u8 = 70;
    pub const IO: u8 = 74;
    /// Not finished yet; try again.
    pub const TEMPORARY: u8 = 75;
    pub const PERMISSION: u8 = 77;
    pub const CONFIG: u8 = 78;
}

/// Why a command ends without success: what to say and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: u8,
    /// Empty when everything has been said already.
    pub message: String,
}

impl Failure {
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    /// The output told it; only the exit code is left to say.
    pub fn told(code: u8) -> Self {
        Self { code, message: String::new() }
    }
}

impl From<hindsight_client::Error> for Failure {
    fn from(error: hindsight_client::Error) -> Self {
        if error.code == Code::Unimplemented {
            let message = "this server does not have the role that answers this; name another with --server";
            return Self::new(code::UNAVAILABLE, message);
        }
        let code = match error.code {
            Code::InvalidArgument | Code::OutOfRange => code::DATA,
            Code::NotFound => code::NO_INPUT,
            Code::Unauthenticated | Code::PermissionDenied => code::PERMISSION,
            Code::Unavailable => code::UNAVAILABLE,
            Code::ResourceExhausted | Code::DeadlineExceeded | Code::Aborted => code::TEMPORARY,
            Code::FailedPrecondition => code::CONFIG,
            _ => code::INTERNAL,
        };
        Self::new(code, error)
    }
}

impl From<hindsight_client::ConnectError> for Failure {
    fn from(error: hindsight_client::ConnectError) -> Self {
        Self::new(code::USAGE, error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(code::IO, error)
    }
}

impl From<hindsight_ports::EmbedError> for Failure {
    fn from(error: hindsight_ports::EmbedError) -> Self {
        use hindsight_ports::EmbedError::{Misconfigured, Rejected, Unavailable};
        // The reason alone: it names the setting, which need not be the embedder's.
        match error {
            Unavailable(why) => Self::new(code::UNAVAILABLE, why),
            Rejected(why) | Misconfigured(why) => Self::new(code::CONFIG, why),
        }
    }
}

impl From<hindsight_ports::StoreError> for Failure {
    fn from(error: hindsight_ports::StoreError) -> Self {
        use hindsight_ports::StoreError::{Corrupt, Rejected, Unavailable};
        let code = match error {
            Unavailable(_) => code::UNAVAILABLE,
            Corrupt(_) => code::DATA,
            Rejected(_) => code::INTERNAL,
        };
        Self::new(code, error)
    }
}
