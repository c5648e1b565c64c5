//! The one place that writes to the terminal. Results go to standard output, everything else to standard
//! error, so that output can be piped.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::LazyLock,
};

use hindsight_wiring::{Failure, code};
use prost::Message;
use serde::Serialize;

use crate::json;

/// A look for text. Applied only on a terminal, and not when `NO_COLOR` is set.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Magenta,
}

static COLOURS: LazyLock<bool> =
    LazyLock::new(|| io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()));

impl Style {
    pub(crate) fn paint(self, text: &str) -> String {
        if !*COLOURS {
            return text.to_owned();
        }
        let code = match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Magenta => 35,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    pub json: bool,
}

impl Ui {
    /// A result, with a newline at its end.
    pub(crate) fn print(self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        match out.write_all(format!("{text}{newline}").as_bytes()).and_then(|()| out.flush()) {
            // The reader has seen enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// A message of the API: as JSON, or as `text` makes it.
    pub(crate) fn message<M: Message>(
        self,
        name: &str,
        message: &M,
        text: impl FnOnce(&M) -> String,
    ) -> Result<(), Failure> {
        if self.json { self.value(&json::of_message(name, message)?) } else { self.print(&text(message)) }
    }

    pub(crate) fn value<T: Serialize>(self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::new(code::INTERNAL, e))?;
        self.print(&text)
    }

    /// Something to know that is not the result.
    pub(crate) fn note(self, text: &str) {
        // Nothing can be said about standard error not working.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}
