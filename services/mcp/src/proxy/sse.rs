//! Server-sent events out of bytes that arrive in any pieces.

use super::frame::{Lines, Piece};

/// Holds an event until it is whole.
#[derive(Debug)]
pub(crate) struct Events {
    lines: Lines,
    raw: Vec<u8>,
    limit: usize,
}

/// A part of the stream. All parts together are exactly the bytes that arrived, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub raw: Vec<u8>,
    /// What it carries. `None`: nothing, or it is too long to be held.
    pub data: Option<Vec<u8>>,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self { lines: Lines::new(limit), raw: Vec::new(), limit }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(Event)) {
        let Self { lines, raw, limit } = self;
        lines.push(bytes, |piece| match piece {
            Piece::Line(line) => {
                raw.extend_from_slice(line);
                if matches!(line, b"\n" | b"\r\n") {
                    let raw = std::mem::take(raw);
                    let data = data(&raw);
                    take(Event { raw, data });
                } else if raw.len() > *limit {
                    take(Event { raw: std::mem::take(raw), data: None });
                }
            }
            Piece::Part(part) => {
                raw.extend_from_slice(part);
                take(Event { raw: std::mem::take(raw), data: None });
            }
        });
    }

    /// What is held when nothing more comes.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.raw);
        rest.extend(self.lines.end());
        rest
    }
}

fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    raw.split_inclusive(|b| *b == b'\n')
}

/// The value of a `data` line, without its end.
fn value(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let value = line.strip_prefix(b"data:")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

fn data(raw: &[u8]) -> Option<Vec<u8>> {
    let values: Vec<_> = lines(raw).filter_map(value).collect();
    (!values.is_empty()).then(|| values.join(&b'\n'))
}

/// The event with other data; all other lines stay as they are.
pub(crate) fn with_data(raw: &[u8], data: &[u8]) -> Vec<u8> {
    let (mut other, mut written) = (Vec::with_capacity(raw.len() + data.len()), false);
    for line in lines(raw) {
        if value(line).is_none() {
            other.extend_from_slice(line);
        } else if !std::mem::replace(&mut written, true) {
            for part in data.split(|b| *b == b'\n') {
                other.extend_from_slice(b"data: ");
                other.extend_from_slice(part);
                other.push(b'\n');
            }
        }
    }
    other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(bytes: &[u8], chunk: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let (mut events, mut raw, mut all) = (Events::new(64), Vec::new(), Vec::new());
        for bytes in bytes.chunks(chunk) {
            events.push(bytes, |event| {
                raw.extend(event.raw);
                all.extend(event.data);
            });
        }
        raw.extend(events.end());
        (raw, all)
    }

    #[test]
    fn an_event_carries_its_data_lines() {
        let stream = ": ping\n\nevent: message\r\nid: 7\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: 天\n\nid: 8\ndata: cut o";
        for chunk in [1, 2, 7, 500] {
            let (raw, data) = through(stream.as_bytes(), chunk);
            assert_eq!(raw, stream.as_bytes());
            assert_eq!(data, ["{\"a\":\n1}".as_bytes(), "天".as_bytes()], "in pieces of {chunk}");
        }
    }

    #[test]
    fn other_data_leaves_the_other_lines() {
        let raw = b"event: message\nid: 7\ndata: {\"a\":\ndata:1}\nretry: 5\n\n";
        assert_eq!(with_data(raw, b"{}"), b"event: message\nid: 7\ndata: {}\nretry: 5\n\n");
        let other = with_data(raw, b"{\n}");
        assert_eq!(data(&other), Some(b"{\n}".to_vec()));
    }

    proptest! {
        #[test]
        fn nothing_is_added_lost_or_moved(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b':'), Just(b'\r')], 0..300),
            chunk in 1..80usize,
        ) {
            prop_assert_eq!(through(&bytes, chunk).0, bytes);
        }

        #[test]
        fn data_does_not_depend_on_how_bytes_arrive(
            lines in proptest::collection::vec("(data: ?|id: |: )?[a-z{}\"天]{0,9}\r?\n(\r?\n)?", 0..20), chunk in 1..80usize,
        ) {
            let bytes = lines.concat();
            prop_assert_eq!(through(bytes.as_bytes(), chunk), through(bytes.as_bytes(), 10_000));
        }
    }
}
