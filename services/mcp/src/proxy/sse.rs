//! Server-sent events out of bytes that arrive in any pieces.

use super::frame::{Lines, Piece};

/// Holds an event until it is whole.
#[derive(Debug)]
pub(crate) struct Events {
    lines: Lines,
    raw: Vec<u8>,
    limit: usize,
    /// Within an event that is too long to be held.
    parted: bool,
}

/// A part of the stream. All parts together are exactly the bytes that arrived, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub raw: Vec<u8>,
    /// What it carries. `None`: nothing, or it is too long to be held.
    pub data: Option<Vec<u8>>,
    /// An event begins with it that is too long to be held.
    pub is_long: bool,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self { lines: Lines::new(limit), raw: Vec::new(), limit, parted: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(Event)) {
        let Self { lines, raw, limit, parted } = self;
        lines.push(bytes, |piece| {
            let (bytes, is_line) = match piece {
                Piece::Line(line) => (line, true),
                Piece::Part(part) => (part, false),
            };
            raw.extend_from_slice(bytes);
            let ends = is_line && matches!(bytes, b"\n" | b"\r\n");
            if !ends && is_line && raw.len() <= *limit {
                return;
            }
            let raw = std::mem::take(raw);
            let within = std::mem::replace(parted, !ends);
            let data = if ends && !within { data(&raw) } else { None };
            take(Event { raw, data, is_long: !ends && !within });
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
    fn an_event_that_is_too_long_is_given_in_parts_and_counts_once() {
        let line = "x".repeat(50);
        let stream = format!(
            "data: {line}{line}\ndata: {line}\ndata: rest\n\ndata: next\n\ndata: {line}\n: {line}\n\n"
        );
        for chunk in [1, 7, 500] {
            let (mut events, mut raw, mut all, mut long) = (Events::new(64), Vec::new(), Vec::new(), 0);
            for bytes in stream.as_bytes().chunks(chunk) {
                events.push(bytes, |event| {
                    raw.extend(event.raw);
                    all.extend(event.data);
                    long += u32::from(event.is_long);
                });
            }
            assert_eq!(String::from_utf8(raw).unwrap(), stream);
            assert_eq!((all, long), (vec![b"next".to_vec()], 2), "in pieces of {chunk}");
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
