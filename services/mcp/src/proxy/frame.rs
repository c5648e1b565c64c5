//! Lines out of bytes that arrive in any pieces.

/// A piece of what arrived. All pieces together are exactly the bytes that arrived, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A whole line with its end.
    Line(&'a [u8]),
    /// A part of a line that is too long to be held, or the end of one whose beginning was lost.
    Part(&'a [u8]),
}

/// Holds the beginning of a line until its end is there.
#[derive(Debug)]
pub(crate) struct Lines {
    held: Vec<u8>,
    limit: usize,
    /// Within a line that is given in parts.
    parted: bool,
}

/// A buffer that a long line left behind is not kept.
const KEPT: usize = 256 * 1024;

impl Lines {
    /// Holds at most `limit` bytes; a line that goes beyond is given in parts.
    pub(crate) fn new(limit: usize) -> Self {
        Self { held: Vec::new(), limit, parted: false }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(Piece<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if std::mem::take(&mut self.parted) {
                take(Piece::Part(head));
            } else if self.held.is_empty() {
                take(Piece::Line(head));
            } else {
                self.held.extend_from_slice(head);
                take(Piece::Line(&self.held));
                self.release();
            }
        }
        if bytes.is_empty() {
        } else if self.parted {
            take(Piece::Part(bytes));
        } else if self.held.len() + bytes.len() > self.limit {
            if !self.held.is_empty() {
                take(Piece::Part(&self.held));
                self.release();
            }
            take(Piece::Part(bytes));
            self.parted = true;
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// What is held when nothing more comes.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.parted = false;
        std::mem::take(&mut self.held)
    }

    /// Bytes were lost: what is held is worth nothing, and the next line has no beginning.
    pub(crate) fn gap(&mut self) {
        self.release();
        self.parted = true;
    }

    /// Whether what was given so far ends with the end of a line.
    pub(crate) fn is_at_line_start(&self) -> bool {
        !self.parted
    }

    fn release(&mut self) {
        if self.held.capacity() > KEPT {
            self.held = Vec::new();
        } else {
            self.held.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pushes `bytes` cut at `cuts`; all bytes as they come out, and the lines among them.
    fn through(limit: usize, bytes: &[u8], cuts: &[usize]) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut cuts: Vec<_> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let (mut lines, mut out, mut whole) = (Lines::new(limit), Vec::new(), Vec::new());
        for pair in cuts.windows(2) {
            lines.push(&bytes[pair[0]..pair[1]], |piece| match piece {
                Piece::Line(line) => {
                    out.extend_from_slice(line);
                    whole.push(line.to_vec());
                }
                Piece::Part(part) => out.extend_from_slice(part),
            });
        }
        out.extend(lines.end());
        (out, whole)
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..400)
    }

    proptest! {
        #[test]
        fn nothing_is_added_lost_or_moved(
            bytes in bytes(), cuts in proptest::collection::vec(any::<usize>(), 0..20), limit in 0..80usize,
        ) {
            prop_assert_eq!(through(limit, &bytes, &cuts).0, bytes);
        }

        #[test]
        fn lines_do_not_depend_on_how_bytes_arrive(
            bytes in bytes(), cuts in proptest::collection::vec(any::<usize>(), 0..20),
        ) {
            let expected: Vec<_> = bytes.split_inclusive(|b| *b == b'\n').filter(|l| l.ends_with(b"\n")).collect();
            prop_assert_eq!(through(1000, &bytes, &cuts).1, expected);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_given_in_parts_and_the_next_is_whole() {
        let mut lines = Lines::new(4);
        let mut seen = Vec::new();
        for bytes in [&b"abc"[..], b"defg", b"h\nxy\n", b"z"] {
            lines.push(bytes, |piece| {
                seen.push(match piece {
                    Piece::Line(l) => format!("line {}", String::from_utf8_lossy(l).trim_end()),
                    Piece::Part(p) => format!("part {}", String::from_utf8_lossy(p).trim_end()),
                });
            });
        }
        assert_eq!(seen, ["part abc", "part defg", "part h", "line xy"]);
        assert_eq!(lines.end(), b"z");
    }

    #[test]
    fn after_a_gap_the_rest_of_the_line_is_no_line() {
        let mut lines = Lines::new(100);
        lines.push(b"{\"a\":", |_| panic!("no line yet"));
        lines.gap();
        let mut whole = Vec::new();
        lines.push(b"1}\n{}\n", |piece| {
            if let Piece::Line(line) = piece {
                whole.push(line.to_vec());
            }
        });
        assert_eq!(whole, [b"{}\n"]);
    }
}
