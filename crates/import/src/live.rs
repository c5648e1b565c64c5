use std::collections::VecDeque;

use crate::{
    Importer, Options, RecordError, UnderWay,
    formats::{Format, Reader, Record, Sink},
    frame::{Frame, Framing, RECORD_BYTES, framing_of, line_frame, oversized},
    importer::{SAMPLE, is_text, recognise, unrecognised},
};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Input that is still being written: takes bytes as they are appended and says what has come of them so far.
/// It makes the same runs as an [`Importer`] that reads the whole, wherever the bytes were cut.
///
/// Input of lines is read as it comes, once its first line has its end. A document that spans lines is read anew
/// each time it is asked about, and is held in memory up to the size of one record.
pub struct Live {
    options: Options,
    framing: Framing,
    format: Option<&'static dyn Format>,
    reader: Option<Box<dyn Reader>>,
    /// Records read before the format was known.
    sample: VecDeque<Frame>,
    /// A line that has no end yet; the whole input while it is undecided or a document.
    pending: Vec<u8>,
    /// Bytes of a line too long to be kept.
    skipped: usize,
    /// Line of the next byte after `pending`'s beginning, from 1.
    line: u64,
    ready: Sink,
    given_up: bool,
}

impl Live {
    pub fn new(options: Options) -> Self {
        Self {
            framing: Framing::Undecided,
            format: options.format,
            options,
            reader: None,
            sample: VecDeque::new(),
            pending: Vec::new(),
            skipped: 0,
            line: 1,
            ready: VecDeque::new(),
            given_up: false,
        }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<&'static str> {
        self.format.filter(|_| self.reader.is_some()).map(Format::name)
    }

    /// Whether what is appended to the input is appended to what was read: not so for documents.
    pub fn is_document(&self) -> bool {
        self.framing == Framing::Values
    }

    /// Nothing can be made of the input; why, is among what [`Live::take`] gives.
    pub fn given_up(&self) -> bool {
        self.given_up
    }

    /// Takes what was appended.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.given_up {
            return;
        }
        self.pending.extend_from_slice(bytes);
        self.advance(false);
    }

    /// The input ended: what was still being put together is among what [`Live::take`] gives.
    pub fn finish(&mut self) {
        self.advance(true);
        if self.given_up {
            return;
        }
        if self.is_document() {
            match Importer::new(&*self.pending, &self.options) {
                Ok(importer) => self.ready.extend(importer),
                Err(e) => self.fail(&e.to_string()),
            }
        } else if let Some(mut reader) = self.reader.take() {
            reader.finish(&mut self.ready);
        } else if !self.sample.is_empty() {
            let sample = std::mem::take(&mut self.sample);
            self.fail(&unrecognised(sample).to_string());
        }
    }

    /// Runs that are over and records that could not be used, each once.
    pub fn take(&mut self) -> Sink {
        std::mem::take(&mut self.ready)
    }

    /// Runs that may go on.
    pub fn under_way(&self) -> Vec<UnderWay> {
        match &self.reader {
            Some(reader) => reader.under_way(),
            None if self.is_document() => self.document(),
            None => Vec::new(),
        }
    }

    fn document(&self) -> Vec<UnderWay> {
        let Ok(importer) = Importer::new(&*self.pending, &self.options) else { return Vec::new() };
        importer.filter_map(Result::ok).map(UnderWay::of_document).collect()
    }

    fn fail(&mut self, reason: &str) {
        self.ready.push_back(Err(RecordError { line: 1, element: None, reason: reason.to_owned() }));
        self.given_up = true;
        self.pending = Vec::new();
    }

    fn advance(&mut self, end: bool) {
        if self.framing == Framing::Undecided {
            self.decide(end);
        }
        match self.framing {
            Framing::Lines | Framing::Text => self.lines(end),
            _ if self.pending.len() > RECORD_BYTES => {
                self.fail(&format!(
                    "is one document of more than {RECORD_BYTES} bytes; import it once it is whole"
                ));
            }
            _ => {}
        }
    }

    fn decide(&mut self, end: bool) {
        if !end && BOM.starts_with(&self.pending) {
            return;
        }
        let bytes = self.pending.strip_prefix(BOM).unwrap_or(&self.pending);
        let Some(start) = bytes.iter().position(|b| !b.is_ascii_whitespace()) else { return };
        let bom = self.pending.len() - bytes.len();
        let mut lines = bytes[start..].split_inclusive(|b| *b == b'\n');
        let whole = |line: &&[u8]| end || line.ends_with(b"\n");
        let framing = match (lines.next(), lines.next().filter(whole)) {
            (Some(first), _) if first.starts_with(b"[") => Framing::Values,
            (Some(first), second) if whole(&first) => {
                // At the end of the input there is no second line to wait for.
                framing_of(first, second.or_else(|| end.then_some(&[])), is_text(&self.options))
            }
            _ => return,
        };
        self.framing = framing;
        if framing != Framing::Undecided {
            self.pending.drain(..bom);
        }
    }

    fn lines(&mut self, end: bool) {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &*pending;
        while let Some(i) = rest.iter().position(|b| *b == b'\n') {
            self.a_line(&rest[..=i]);
            self.line += 1;
            rest = &rest[i + 1..];
        }
        // An object that closes is no beginning of a longer one, so its line need not end.
        if !rest.is_empty() && (end || (self.framing == Framing::Lines && is_object(rest))) {
            self.a_line(rest);
            rest = &[];
        }
        if self.skipped + rest.len() > RECORD_BYTES {
            self.skipped += rest.len();
        } else {
            self.pending = rest.to_vec();
        }
    }

    fn a_line(&mut self, bytes: &[u8]) {
        let length = std::mem::take(&mut self.skipped) + bytes.len();
        let blank = bytes.iter().all(u8::is_ascii_whitespace) && length == bytes.len();
        if self.given_up || (blank && (self.framing == Framing::Lines || self.reader.is_none())) {
            return;
        }
        let frame = if length > RECORD_BYTES {
            oversized(self.line, length)
        } else {
            line_frame(self.line, bytes, self.framing)
        };
        if self.reader.is_some() {
            return self.push(frame);
        }
        self.format = self.format.or_else(|| recognise(&frame));
        self.sample.push_back(frame);
        match self.format {
            Some(format) => {
                self.reader = Some(format.reader(&self.options));
                std::mem::take(&mut self.sample).into_iter().for_each(|frame| self.push(frame));
            }
            None if self.sample.len() == SAMPLE => {
                let sample = std::mem::take(&mut self.sample);
                self.fail(&unrecognised(sample).to_string());
            }
            None => {}
        }
    }

    fn push(&mut self, Frame { line, element, group, value }: Frame) {
        match (value, &mut self.reader) {
            (Ok(value), Some(reader)) => reader.push(Record { line, element, group, value }, &mut self.ready),
            (Err(reason), _) => self.ready.push_back(Err(RecordError { line, element, reason })),
            (Ok(_), None) => {}
        }
    }
}

fn is_object(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.ends_with(b"}")
        && text.starts_with(b"{")
        && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("framing", &self.framing)
            .field("format", &self.format())
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}
