//! The file of an export: JSON Lines, each of which holds a part of the SHA-256 of everything before it, so that the
//! first line that was changed is known.

use std::io::{self, BufRead, Read as _};

use hindsight_proto::memory::v1::{ExportLine, export_line::Line};
use sha2::{Digest as _, Sha256};

use crate::json;

const MESSAGE: &str = "hindsight.memory.v1.ExportLine";
/// Digits of the SHA-256 that a line holds.
const DIGITS: usize = 16;
const BEFORE: &str = ",\"sum\":\"";
const AFTER: &str = "\"}";
/// Longer lines are not of an export: a record is at most a message.
const LINE_BYTES: u64 = 512 * 1024 * 1024;

/// The running SHA-256 of a file.
#[derive(Clone, Default)]
pub(crate) struct Seal(Sha256);

impl Seal {
    /// Of all lines so far, in hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        hex(&self.0.clone().finalize())
    }

    /// The line of a JSON object that has no sum yet, with its newline; it counts as written.
    pub(crate) fn close(&mut self, object: &str) -> String {
        let open = object.strip_suffix('}').unwrap_or(object);
        let line = format!("{open}{BEFORE}{}{AFTER}\n", self.sum(open));
        self.0.update(line.as_bytes());
        line
    }

    /// The JSON object of a line with its newline, without its sum; it counts as read. `None`: it was changed.
    pub(crate) fn open(&mut self, line: &str) -> Option<String> {
        let (open, sum) = line.strip_suffix('\n')?.strip_suffix(AFTER)?.rsplit_once(BEFORE)?;
        if sum != self.sum(open) {
            return None;
        }
        self.0.update(line.as_bytes());
        Some(format!("{open}}}"))
    }

    fn sum(&self, open: &str) -> String {
        let mut digest = self.0.clone();
        digest.update(open.as_bytes());
        hex(&digest.finalize())[..DIGITS].to_owned()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The JSON of a line, without its sum.
pub(crate) fn render(line: Line) -> Result<String, hindsight_wiring::Failure> {
    json::line(MESSAGE, &ExportLine { line: Some(line), sum: String::new() })
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// From 1.
    pub(crate) line: u64,
    pub(crate) problem: String,
}

/// Reads a file line by line, each checked.
pub(crate) struct Lines<R> {
    input: R,
    pub(crate) seal: Seal,
    /// As it was before the last line.
    pub(crate) before: Seal,
    /// Lines read so far, and their bytes.
    pub(crate) number: u64,
    pub(crate) offset: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, seal: Seal::default(), before: Seal::default(), number: 0, offset: 0 }
    }

    /// The next line; `Ok(None)` at the end of the file. After an error nothing more may be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Line, Broken>>> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.before = self.seal.clone();
        let number = self.number + 1;
        let broken = |problem: &str| Broken { line: number, problem: problem.to_owned() };
        if bytes.last() != Some(&b'\n') {
            return Ok(Some(Err(broken("it breaks off"))));
        }
        let Some(object) = std::str::from_utf8(&bytes).ok().and_then(|line| self.seal.open(line)) else {
            return Ok(Some(Err(broken(
                "it is not as it was written: its sum does not fit it and the lines before it",
            ))));
        };
        let line = match json::to_message::<ExportLine>(MESSAGE, &object) {
            Ok(ExportLine { line: Some(line), .. }) => line,
            Ok(_) => return Ok(Some(Err(broken("it says nothing that is known; use a newer hindsight")))),
            Err(error) => return Ok(Some(Err(broken(&format!("{error}; use a newer hindsight"))))),
        };
        self.number = number;
        self.offset += read as u64;
        Ok(Some(Ok(line)))
    }
}

#[cfg(test)]
mod tests;
