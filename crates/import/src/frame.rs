//! Cuts a stream into JSON values with the line each begins on: JSON Lines, one array of values, or
//! documents that span lines; or, for formats of text, into lines. Holds one value in memory, and never more than `RECORD_BYTES` of it.

mod source;

use std::{
    collections::VecDeque,
    io::{self, BufRead},
};

use hindsight_types::limits;
use serde_json::Value;

use source::{Piece, Source};

/// Largest record that is read into memory.
pub(crate) const RECORD_BYTES: usize = limits::MESSAGE_BYTES;

/// One value of the input.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Line it begins on, from 1.
    pub line: u64,
    /// Place in its array, from 0.
    pub element: Option<u64>,
    /// Values of one array share a group, as do all values outside arrays.
    pub group: u64,
    pub value: Result<Value, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Undecided,
    /// Every line is a value; a broken one ends with its line.
    Lines,
    /// Values end where their brackets close; those of an array come one by one.
    Values,
    /// Every line is itself, blank ones too.
    Text,
}

/// Whether a line is text rather than JSON.
pub(crate) type IsText = fn(&str) -> bool;

pub(crate) struct Frames<R> {
    source: Source<R>,
    framing: Framing,
    is_text: IsText,
    group: u64,
    /// Place of the next element while inside an array.
    element: Option<u64>,
    /// Met while deciding, and too long to be put back.
    ready: VecDeque<Frame>,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(input: R, is_text: IsText) -> Self {
        Self {
            source: Source::new(input),
            framing: Framing::Undecided,
            is_text,
            group: 0,
            element: None,
            ready: VecDeque::new(),
        }
    }

    /// The line that comes next.
    pub(crate) fn line(&self) -> u64 {
        self.source.line_number()
    }

    /// The next value, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        if self.framing == Framing::Undecided {
            self.framing = self.decide()?;
        }
        if let Some(frame) = self.ready.pop_front() {
            return Ok(Some(frame));
        }
        match self.framing {
            Framing::Lines => self.next_line(),
            Framing::Text => self.next_text(),
            _ => self.next_value(),
        }
    }

    fn decide(&mut self) -> io::Result<Framing> {
        self.source.skip_bom()?;
        if self.source.skip_space()? == Some(b'[') {
            return Ok(Framing::Values);
        }
        let (line, first) = self.take_line()?;
        if !first.whole() {
            self.ready.push_back(frame_of(line, &first));
            return Ok(Framing::Lines);
        }
        let mut framing = framing_of(&first.bytes, None, self.is_text);
        if framing == Framing::Undecided {
            let (line, second) = self.take_line()?;
            if !second.whole() {
                self.ready.extend([frame_of(line - 1, &first), frame_of(line, &second)]);
                return Ok(Framing::Lines);
            }
            framing = framing_of(&first.bytes, Some(&second.bytes), self.is_text);
            self.source.put_back(second);
        }
        self.source.put_back(first);
        Ok(framing)
    }

    fn take_line(&mut self) -> io::Result<(u64, Piece)> {
        let line = self.source.line_number();
        Ok((line, self.source.line(RECORD_BYTES)?))
    }

    fn next_line(&mut self) -> io::Result<Option<Frame>> {
        if self.source.skip_space()?.is_none() {
            return Ok(None);
        }
        let (line, piece) = self.take_line()?;
        Ok(Some(frame_of(line, &piece)))
    }

    fn next_text(&mut self) -> io::Result<Option<Frame>> {
        let (line, piece) = self.take_line()?;
        Ok(Some(text_frame(line, &piece)).filter(|_| piece.length > 0))
    }

    fn next_value(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let Some(byte) = self.source.skip_space()? else {
                return Ok(self
                    .element
                    .take()
                    .map(|i| self.broken(i, "the array is not closed; the file may be cut off")));
            };
            match (byte, self.element) {
                (b'[', None) => self.element = Some(0),
                (b',', Some(_)) => {}
                (b']', Some(_)) => {
                    self.element = None;
                    self.group += 1;
                }
                _ => return self.value().map(Some),
            }
            self.source.bump()?;
        }
    }

    fn value(&mut self) -> io::Result<Frame> {
        let line = self.source.line_number();
        let piece = self.source.value(RECORD_BYTES)?;
        let element = self.element;
        self.element = element.map(|i| i + 1);
        Ok(Frame { line, element, group: self.group, value: read(&piece) })
    }

    fn broken(&self, element: u64, reason: &str) -> Frame {
        Frame {
            line: self.source.line_number(),
            element: Some(element),
            group: self.group,
            value: Err(reason.to_owned()),
        }
    }
}

/// How input goes on that begins with these lines. Undecided when the second is needed and not given.
pub(crate) fn framing_of(first: &[u8], second: Option<&[u8]>, is_text: IsText) -> Framing {
    if is_text(&String::from_utf8_lossy(first)) {
        return Framing::Text;
    }
    let parse = serde_json::from_slice::<Value>;
    // When the first line breaks off, the object goes on in the next, unless that is one by itself.
    match (parse(first), second) {
        (Err(e), None) if e.is_eof() => Framing::Undecided,
        (Err(e), Some(second)) if e.is_eof() && !parse(second).is_ok_and(|v| v.is_object()) => {
            Framing::Values
        }
        _ => Framing::Lines,
    }
}

fn frame_of(line: u64, piece: &Piece) -> Frame {
    Frame { line, element: None, group: 0, value: read(piece) }
}

fn text_frame(line: u64, piece: &Piece) -> Frame {
    let value = if piece.whole() { Ok(line_value(&piece.bytes)) } else { Err(too_long(piece.length)) };
    Frame { line, element: None, group: 0, value }
}

/// A line of text without its end.
fn line_value(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    Value::String(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A line that arrived on its own.
pub(crate) fn line_frame(line: u64, bytes: &[u8], framing: Framing) -> Frame {
    let value = match framing {
        Framing::Text => Ok(line_value(bytes)),
        _ => value_of(bytes),
    };
    Frame { line, element: None, group: 0, value }
}

/// A line of which no more than the beginning was kept.
pub(crate) fn oversized(line: u64, length: usize) -> Frame {
    Frame { line, element: None, group: 0, value: Err(too_long(length)) }
}

fn too_long(length: usize) -> String {
    format!("is {length} bytes long; at most {RECORD_BYTES} are read")
}

fn read(piece: &Piece) -> Result<Value, String> {
    if piece.whole() { value_of(&piece.bytes) } else { Err(too_long(piece.length)) }
}

fn value_of(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|e| format!("is not valid JSON: {e}"))
}

#[cfg(test)]
mod tests;
