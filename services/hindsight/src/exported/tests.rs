use hindsight_proto::{
    common::v1::{Fact, Memory, memory::Kind},
    memory::v1::{ExportCheckpoint, ExportHeader},
    storage::v1::{Record, record::Body},
};

use super::*;

fn record(content: &str) -> Line {
    let fact = Fact { content: content.to_owned(), confidence: 0.1, ..Fact::default() };
    let memory = Memory { kind: Some(Kind::Fact(fact)) };
    Line::Record(Record { body: Some(Body::Memory(memory)), ..Record::default() })
}

fn lines() -> Vec<Line> {
    let header =
        ExportHeader { format: "hindsight-export".to_owned(), version: 1, ..ExportHeader::default() };
    let checkpoint = ExportCheckpoint { records: 3, cursor: "c".to_owned(), ..ExportCheckpoint::default() };
    let said = ["tea", "我喜欢茶", "a \"quoted\" line\nwith ,\"sum\":\"0000\"} in it \u{202e}\0"];
    let mut lines = vec![Line::Header(header)];
    lines.extend(said.map(record));
    lines.push(Line::Checkpoint(checkpoint));
    lines
}

fn file() -> String {
    let mut seal = Seal::default();
    lines().into_iter().map(|line| seal.close(&render(line).unwrap())).collect()
}

fn read(file: &[u8]) -> Result<Vec<Line>, Broken> {
    let (mut reader, mut found) = (Lines::new(file), Vec::new());
    while let Some(line) = reader.next().unwrap() {
        found.push(line?);
    }
    assert_eq!((reader.number as usize, reader.offset as usize), (found.len(), file.len()));
    Ok(found)
}

#[test]
fn what_is_written_is_read() {
    let file = file();
    assert_eq!(file.lines().count(), lines().len(), "a record is one line whatever it says");
    assert_eq!(read(file.as_bytes()).unwrap(), lines());
    let second = serde_json::from_str::<serde_json::Value>(file.lines().nth(1).unwrap()).unwrap();
    assert_eq!(second["record"]["memory"]["fact"]["content"], "tea");
    assert!(file.contains("\"confidence\":0.1,") || file.contains("\"confidence\":0.1}"), "{file}");
}

#[test]
fn a_changed_byte_is_found_at_its_line() {
    let file = file().into_bytes();
    let mut line = 1;
    for at in 0..file.len() {
        for changed in [file[at] ^ 1, b' ', b'\n', 0xff] {
            if changed == file[at] {
                continue;
            }
            let mut other = file.clone();
            other[at] = changed;
            let broken = read(&other).expect_err("a change was not found");
            assert_eq!(broken.line, line, "byte {at} as {changed}");
        }
        if file[at] == b'\n' {
            line += 1;
        }
    }
}

#[test]
fn lines_cannot_be_left_out_or_turned_round() {
    let file = file();
    let all: Vec<&str> = file.split_inclusive('\n').collect();
    for at in 1..all.len() - 1 {
        let mut without = all.clone();
        without.remove(at);
        assert_eq!(read(without.concat().as_bytes()).unwrap_err().line, at as u64 + 1);
        let mut turned = all.clone();
        turned.swap(at, at + 1);
        assert_eq!(read(turned.concat().as_bytes()).unwrap_err().line, at as u64 + 1);
    }
    for cut in 0..file.len() - 1 {
        let whole = file.as_bytes()[..cut].iter().filter(|b| **b == b'\n').count();
        match read(&file.as_bytes()[..cut]) {
            Ok(found) => assert_eq!(found.len(), whole, "cut between two lines"),
            Err(broken) => assert_eq!(broken.line, whole as u64 + 1),
        }
    }
}
