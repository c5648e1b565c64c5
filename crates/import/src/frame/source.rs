use std::io::{self, BufRead};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Bytes taken from a source; at most the limit asked for, with the length there really was.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    pub length: usize,
}

impl Piece {
    pub(super) fn whole(&self) -> bool {
        self.bytes.len() == self.length
    }

    fn add(&mut self, bytes: &[u8], max: usize) {
        self.length += bytes.len();
        let room = max.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// A reader that counts lines and takes pieces back.
pub(super) struct Source<R> {
    input: R,
    /// Taken back, last piece on top; each read from its front.
    returned: Vec<Piece>,
    offset: usize,
    line: u64,
}

impl<R: BufRead> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, returned: Vec::new(), offset: 0, line: 1 }
    }

    /// The line of the next byte, from 1.
    pub(super) fn line_number(&self) -> u64 {
        self.line
    }

    /// Makes `piece` the next thing to be read. Only for pieces that were read just before.
    pub(super) fn put_back(&mut self, piece: Piece) {
        self.line -= newlines(&piece.bytes);
        self.returned.push(piece);
    }

    fn chunk(&mut self) -> io::Result<&[u8]> {
        while self.returned.last().is_some_and(|p| p.bytes.len() <= self.offset) {
            self.returned.pop();
            self.offset = 0;
        }
        match self.returned.last() {
            Some(piece) => Ok(&piece.bytes[self.offset..]),
            None => loop {
                match self.input.fill_buf() {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                    Ok(_) => return self.input.fill_buf(),
                }
            },
        }
    }

    fn consume(&mut self, n: usize) -> io::Result<()> {
        self.line += newlines(&self.chunk()?[..n]);
        match self.returned.last() {
            Some(_) => self.offset += n,
            None => self.input.consume(n),
        }
        Ok(())
    }

    pub(super) fn bump(&mut self) -> io::Result<()> {
        let n = self.chunk()?.len().min(1);
        self.consume(n)
    }

    pub(super) fn skip_bom(&mut self) -> io::Result<()> {
        if self.chunk()?.first() == Some(&BOM[0]) {
            let mut left = BOM.len();
            let mark = self.take(BOM.len(), |chunk| {
                let n = left.min(chunk.len());
                left -= n;
                (left == 0).then_some(n)
            })?;
            if mark.bytes != BOM {
                self.put_back(mark);
            }
        }
        Ok(())
    }

    /// Skips white space; the byte after it, not taken.
    pub(super) fn skip_space(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            match chunk.iter().position(|b| !b.is_ascii_whitespace()) {
                Some(0) => return Ok(chunk.first().copied()),
                Some(n) => self.consume(n)?,
                None => {
                    let n = chunk.len();
                    self.consume(n)?;
                }
            }
        }
    }

    /// Takes the rest of the line with its newline, and keeps at most `max` bytes of it.
    pub(super) fn line(&mut self, max: usize) -> io::Result<Piece> {
        self.take(max, |chunk| chunk.iter().position(|b| *b == b'\n').map(|i| i + 1))
    }

    /// Takes one JSON value, which begins at the next byte, and keeps at most `max` bytes of it.
    pub(super) fn value(&mut self, max: usize) -> io::Result<Piece> {
        let mut scan = Scan::default();
        self.take(max, |chunk| chunk.iter().enumerate().find_map(|(i, b)| scan.ends(*b).map(|n| i + n)))
    }

    /// Takes bytes until `end` says how many of the chunk belong to the piece.
    fn take(&mut self, max: usize, mut end: impl FnMut(&[u8]) -> Option<usize>) -> io::Result<Piece> {
        let mut piece = Piece::default();
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(piece);
            }
            let found = end(chunk);
            let n = found.unwrap_or(chunk.len());
            piece.add(&chunk[..n], max);
            self.consume(n)?;
            if found.is_some() {
                return Ok(piece);
            }
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|b| **b == b'\n').count() as u64
}

/// Finds the end of a value by its brackets and quotes alone, so that a broken value ends where it closes.
#[derive(Default)]
struct Scan {
    begun: bool,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Scan {
    /// `Some(1)`: the value ends with this byte; `Some(0)`: before it.
    fn ends(&mut self, byte: u8) -> Option<usize> {
        let first = !std::mem::replace(&mut self.begun, true);
        if self.escaped {
            self.escaped = false;
            return None;
        }
        if self.quoted {
            match byte {
                b'\\' => self.escaped = true,
                b'"' => self.quoted = false,
                _ => {}
            }
            return (!self.quoted && self.depth == 0).then_some(1);
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                return (self.depth == 0).then_some(1);
            }
            // Closes nothing: a value of its own, so that reading goes on.
            b'}' | b']' => return Some(usize::from(first)),
            b',' if self.depth == 0 => return Some(usize::from(first)),
            b if self.depth == 0 && !first && b.is_ascii_whitespace() => return Some(0),
            _ => {}
        }
        None
    }
}
