//! Cuts a stream into JSON values with the line each begins on: JSON Lines, one array of values, or
//! documents that span lines. Holds one value in memory, and never more than `RECORD_BYTES` of it.

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
enum Framing {
    Undecided,
    /// Every line is a value; a broken one ends with its line.
    Lines,
    /// Values end where their brackets close; those of an array come one by one.
    Values,
}

pub(crate) struct Frames<R> {
    source: Source<R>,
    framing: Framing,
    group: u64,
    /// Place of the next element while inside an array.
    element: Option<u64>,
    /// Met while deciding, and too long to be put back.
    ready: VecDeque<Frame>,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            framing: Framing::Undecided,
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
        // When the first line breaks off, the object goes on in the next, unless that is one by itself.
        let broken_off = parse(&first).is_err_and(|e| e.is_eof());
        let mut framing = Framing::Lines;
        if broken_off {
            let (line, second) = self.take_line()?;
            if !second.whole() {
                self.ready.extend([frame_of(line - 1, &first), frame_of(line, &second)]);
                return Ok(Framing::Lines);
            }
            if !parse(&second).is_ok_and(|v| v.is_object()) {
                framing = Framing::Values;
            }
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

fn frame_of(line: u64, piece: &Piece) -> Frame {
    Frame { line, element: None, group: 0, value: read(piece) }
}

fn parse(piece: &Piece) -> serde_json::Result<Value> {
    serde_json::from_slice(&piece.bytes)
}

fn read(piece: &Piece) -> Result<Value, String> {
    if !piece.whole() {
        return Err(format!("is {} bytes long; at most {RECORD_BYTES} are read", piece.length));
    }
    parse(piece).map_err(|e| format!("is not valid JSON: {e}"))
}

#[cfg(test)]
mod tests;
