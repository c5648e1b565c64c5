use std::{
    collections::VecDeque,
    io::{self, BufRead},
};

use hindsight_types::Trajectory;

use crate::{
    FORMATS, Format, Options, RecordError,
    formats::{self, Reader, Record},
    frame::{Frame, Frames, IsText},
};

/// Records looked at to find out the format.
pub(crate) const SAMPLE: usize = 32;

/// The input as a whole cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is empty")]
    Empty,
    #[error(
        "is in no format that is known ({}); name one if it is{}",
        FORMATS.map(Format::name).join(", "),
        first.as_ref().map_or_else(String::new, |e| format!("; {e}"))
    )]
    Unrecognised {
        /// The first record that is not even JSON.
        first: Option<RecordError>,
    },
}

/// The runs of one input, one by one. Each item is a run or a record that could not be used.
pub struct Importer<R> {
    frames: Frames<R>,
    /// Read to find out the format, not yet given to the reader.
    sample: VecDeque<Frame>,
    format: &'static dyn Format,
    reader: Option<Box<dyn Reader>>,
    ready: VecDeque<Result<Trajectory, RecordError>>,
    records: u64,
}

impl<R: BufRead> Importer<R> {
    pub fn new(input: R, options: &Options) -> Result<Self, ReadError> {
        let mut frames = Frames::new(input, is_text(options));
        let mut sample = VecDeque::new();
        let mut format = options.format;
        while sample.len() < SAMPLE
            && let Some(frame) = frames.next()?
        {
            format = format.or_else(|| recognise(&frame));
            sample.push_back(frame);
            if format.is_some() {
                break;
            }
        }
        let Some(format) = format else {
            return Err(unrecognised(sample));
        };
        if sample.is_empty() {
            return Err(ReadError::Empty);
        }
        let reader = Some(format.reader(options));
        Ok(Self { frames, sample, format, reader, ready: VecDeque::new(), records: 0 })
    }

    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// Records read so far, broken ones included.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn step(&mut self) {
        let Some(reader) = self.reader.as_mut() else { return };
        let frame = match self.sample.pop_front() {
            Some(frame) => Ok(Some(frame)),
            None => self.frames.next(),
        };
        match frame {
            Ok(Some(frame)) => {
                self.records += 1;
                let Frame { line, element, group, value } = frame;
                match value {
                    Ok(value) => reader.push(Record { line, element, group, value }, &mut self.ready),
                    Err(reason) => self.ready.push_back(Err(RecordError { line, element, reason })),
                }
            }
            end => {
                if let Err(e) = end {
                    let reason = format!("the input cannot be read any further: {e}");
                    self.ready.push_back(Err(RecordError {
                        line: self.frames.line(),
                        element: None,
                        reason,
                    }));
                }
                reader.finish(&mut self.ready);
                self.reader = None;
            }
        }
    }
}

impl<R: BufRead> Iterator for Importer<R> {
    type Item = Result<Trajectory, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.reader.is_some() {
            self.step();
        }
        self.ready.pop_front()
    }
}

impl<R> std::fmt::Debug for Importer<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Importer")
            .field("format", &self.format.name())
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

/// Which lines are text, as far as the format is known.
pub(crate) fn is_text(options: &Options) -> IsText {
    match options.format {
        None => formats::is_text,
        Some(format) if format.is_text() => |_| true,
        Some(_) => |_| false,
    }
}

pub(crate) fn recognise(frame: &Frame) -> Option<&'static dyn Format> {
    let value = frame.value.as_ref().ok()?;
    FORMATS.into_iter().find(|f| f.recognises(value))
}

pub(crate) fn unrecognised(sample: VecDeque<Frame>) -> ReadError {
    if sample.is_empty() {
        return ReadError::Empty;
    }
    let first = sample
        .into_iter()
        .find_map(|f| f.value.err().map(|reason| RecordError { line: f.line, element: f.element, reason }));
    ReadError::Unrecognised { first }
}
