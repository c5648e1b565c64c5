use std::io::{BufReader, Cursor};

use super::*;

fn frames(input: &str, capacity: usize) -> Vec<Frame> {
    let input = BufReader::with_capacity(capacity, Cursor::new(input.as_bytes().to_vec()));
    let mut frames = Frames::new(input, |line| line.starts_with("Text:"));
    let mut all = Vec::new();
    while let Some(frame) = frames.next().unwrap() {
        all.push(frame);
        assert!(all.len() < 1000, "does not end");
    }
    all
}

/// Line, element, group and the value or its error, whatever the size of the reads.
fn shape(input: &str) -> Vec<(u64, Option<u64>, u64, String)> {
    let shapes: Vec<Vec<_>> = [1, 3, 8192]
        .iter()
        .map(|capacity| {
            let text = |v: Result<Value, String>| v.map_or_else(|_| "broken".to_owned(), |v| v.to_string());
            frames(input, *capacity)
                .into_iter()
                .map(|f| (f.line, f.element, f.group, text(f.value)))
                .collect()
        })
        .collect();
    assert_eq!(shapes[0], shapes[1]);
    assert_eq!(shapes[1], shapes[2]);
    shapes[2].clone()
}

fn line(n: u64, text: &str) -> (u64, Option<u64>, u64, String) {
    (n, None, 0, text.to_owned())
}

#[test]
fn json_lines_with_a_broken_one_in_the_middle() {
    let got = shape("\u{feff}{\"a\":1}\n\n{\"a\":\n{\"a\":\"中\\\"文\"}\nnonsense\n[1]\n{\"a\":2}");
    assert_eq!(
        got,
        [
            line(1, r#"{"a":1}"#),
            line(3, "broken"),
            line(4, r#"{"a":"中\"文"}"#),
            line(5, "broken"),
            line(6, "[1]"),
            line(7, r#"{"a":2}"#),
        ]
    );
}

#[test]
fn the_first_line_may_be_the_broken_one() {
    assert_eq!(shape("{\"a\":\n{\"a\":1}\n"), [line(1, "broken"), line(2, r#"{"a":1}"#)]);
}

#[test]
fn a_document_over_several_lines_is_one_value() {
    assert_eq!(shape("\n{\n  \"a\": [1,\n 2]\n}\n"), [line(2, r#"{"a":[1,2]}"#)]);
}

#[test]
fn an_array_gives_its_elements_with_place_and_line() {
    let element = |n, i, text: &str| (n, Some(i), 0, text.to_owned());
    assert_eq!(
        shape("[{\"a\":1},\n  {\"a\":,},\n  \"x\", 42\n]\n"),
        [element(1, 0, r#"{"a":1}"#), element(2, 1, "broken"), element(3, 2, r#""x""#), element(3, 3, "42"),]
    );
}

#[test]
fn one_array_per_line_makes_one_group_each() {
    let groups: Vec<_> = shape("[1,2]\n[3]\n").into_iter().map(|f| (f.0, f.2, f.3)).collect();
    assert_eq!(groups, [(1, 0, "1".into()), (1, 0, "2".into()), (2, 1, "3".into())]);
}

#[test]
fn an_array_that_is_cut_off_is_reported() {
    let got = frames("[{\"a\":1},\n", 8192);
    assert_eq!(got.len(), 2);
    assert!(got[1].value.as_ref().is_err_and(|e| e.contains("not closed")));
}

#[test]
fn a_record_beyond_the_limit_is_named_and_skipped() {
    let mut source = Source::new(Cursor::new(b"aaaaaaaaaa\nbb\n".to_vec()));
    let long = source.line(4).unwrap();
    assert!(!long.whole());
    assert_eq!((long.bytes.as_slice(), long.length), (b"aaaa".as_slice(), 11));
    assert_eq!(source.line(4).unwrap().bytes, b"bb\n");
}

#[test]
fn lines_of_text_are_kept_as_they_are() {
    let got: Vec<_> = shape("Text: a\r\n\n  b {\n{}").into_iter().map(|f| (f.0, f.3)).collect();
    let lines = [(1, "Text: a"), (2, ""), (3, "  b {"), (4, "{}")];
    assert_eq!(got, lines.map(|(n, text)| (n, Value::from(text).to_string())));
}
