//! Lines, each by itself: one that cannot be read is told, and does not end what follows.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// Longest line: the largest event, with every character of it escaped.
pub(super) const LINE_BYTES: u64 = 8 * 1024 * 1024;

/// The next line, or what is wrong with it; `None` at the end. Of a line of more than `most` bytes nothing is kept.
pub(super) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    most: u64,
) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    let read = input.take(most + 1).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 > most && !line.ends_with(b"\n") {
        while !line.is_empty() && !line.ends_with(b"\n") {
            line.clear();
            input.take(most).read_until(b'\n', &mut line).await?;
        }
        return Ok(Some(Err(format!("it is longer than the {most} bytes accepted"))));
    }
    let text = String::from_utf8(line);
    Ok(Some(text.map_err(|e| format!("byte {} is no UTF-8", e.utf8_error().valid_up_to() + 1))))
}

#[cfg(test)]
mod tests {
    use super::next;

    async fn read(mut input: &[u8], most: u64) -> Vec<Result<String, String>> {
        let mut lines = Vec::new();
        while let Some(line) = next(&mut input, most).await.unwrap() {
            lines.push(line.map(|line| line.trim_end().to_owned()));
        }
        lines
    }

    #[tokio::test]
    async fn a_line_that_cannot_be_read_does_not_end_the_others() {
        let lines = read(b"one\n\xff\xfe\n\nfine \xe5\xa5\xbd\nno \xc3", 100).await;
        let [one, broken, empty, two, torn] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((one, empty, two), (&Ok("one".to_owned()), &Ok(String::new()), &Ok("fine 好".to_owned())));
        assert_eq!(broken, &Err("byte 1 is no UTF-8".to_owned()));
        assert_eq!(torn, &Err("byte 4 is no UTF-8".to_owned()));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over_to_its_end() {
        let long = "x".repeat(9);
        for (input, places) in [
            (format!("{long}\nshort\n{long}{long}{long}\n1234\n"), [1, 0, 1, 0].as_slice()),
            (format!("12345678\n{long}"), &[0, 1]),
            (format!("{long}\n"), &[1]),
        ] {
            let lines = read(input.as_bytes(), 8).await;
            let refused: Vec<_> = lines.iter().map(|line| usize::from(line.is_err())).collect();
            assert_eq!(refused, places, "{input}");
            let told =
                |line: &Result<String, String>| line.as_ref().err().is_none_or(|e| e.contains("8 bytes"));
            assert!(lines.iter().all(told), "{lines:?}");
        }
    }
}
