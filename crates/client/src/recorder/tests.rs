use std::{fs, path::Path};

use hindsight_proto::common::v1::{ActionType, Decision, Outcome, OutcomeEvidence, Step};
use hindsight_types::limits;
use proptest::prelude::*;

use super::{
    fit,
    segment::HEADER,
    spool::{Found, Spool, SpoolError},
    state::InFlight,
};

const SEGMENT: u64 = 64;

fn open(folder: &Path) -> (Spool, Found) {
    Spool::open(folder, SEGMENT).unwrap()
}

fn payload(n: u64) -> Vec<u8> {
    format!("record {n} 记录").into_bytes()
}

fn all(spool: &mut Spool, after: u64) -> Vec<(u64, Vec<u8>)> {
    spool.read(after, usize::MAX, u64::MAX).unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let is_spool = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "spool");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(is_spool).collect();
    files.sort();
    files
}

#[test]
fn what_is_not_acknowledged_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let expected: Vec<_> = (1..=10).map(|n| (n, payload(n))).collect();
    let (mut spool, found) = open(folder.path());
    assert_eq!(found, Found::default());
    for (n, record) in &expected {
        assert_eq!(spool.append(record).unwrap(), *n);
    }
    assert_eq!(all(&mut spool, 0), expected);
    assert_eq!(all(&mut spool, 7), expected[7..]);
    assert_eq!(spool.read(2, 3, u64::MAX).unwrap(), expected[2..5]);
    assert_eq!(spool.read(2, usize::MAX, 1).unwrap(), expected[2..3], "one at least");
    assert!(matches!(Spool::open(folder.path(), SEGMENT), Err(SpoolError::InUse { .. })));
    let freed = spool.acknowledge(5).unwrap();
    drop(spool);

    let (mut spool, found) = open(folder.path());
    let kept = all(&mut spool, 0);
    assert_eq!(found.records, kept.len() as u64);
    assert_eq!(found.bytes + freed, (10 * (HEADER as usize + payload(1).len()) + 1) as u64);
    assert!(kept.ends_with(&expected[5..]) && kept.len() < 10, "whole files were let go: {kept:?}");
    assert_eq!(spool.append(&payload(11)).unwrap(), 11);
    spool.acknowledge(11).unwrap();
    assert_eq!(files(folder.path()), Vec::<std::path::PathBuf>::new());
    assert_eq!(spool.append(&payload(12)).unwrap(), 12, "positions go on");
    assert_eq!(all(&mut spool, 11), [(12, payload(12))]);
}

#[test]
fn a_file_may_be_torn_at_any_byte() {
    let whole = tempfile::tempdir().unwrap();
    let (mut spool, _) = Spool::open(whole.path(), u64::MAX).unwrap();
    for n in 1..=3 {
        spool.append(&payload(n)).unwrap();
    }
    let bytes = fs::read(&files(whole.path())[0]).unwrap();
    let record = HEADER as usize + payload(1).len();
    for cut in 0..bytes.len() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("00000000000000000001.spool"), &bytes[..cut]).unwrap();
        let (mut spool, found) = open(folder.path());
        let kept = (cut / record) as u64;
        assert_eq!((found.records, found.torn), (kept, (cut % record) as u64));
        spool.append(b"next").unwrap();
        let read: Vec<_> = all(&mut spool, 0).into_iter().map(|(_, p)| p).collect();
        let expected: Vec<_> = (1..=kept).map(payload).chain([b"next".to_vec()]).collect();
        assert_eq!(read, expected, "cut at {cut}");
    }
}

#[test]
fn a_damaged_byte_costs_the_rest_of_its_file_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(folder.path());
    (1..=9).for_each(|n| assert_eq!(spool.append(&payload(n)).unwrap(), n));
    drop(spool);
    let files = files(folder.path());
    assert!(files.len() >= 3, "{files:?}");
    let mut bytes = fs::read(&files[1]).unwrap();
    bytes[HEADER as usize] ^= 1;
    fs::write(&files[1], bytes).unwrap();
    let (mut spool, found) = open(folder.path());
    let positions: Vec<_> = all(&mut spool, 0).into_iter().map(|(n, _)| n).collect();
    assert!(found.torn > 0 && positions.len() as u64 == found.records);
    assert!(positions.contains(&1) && positions.contains(&9), "{positions:?}");
    // A length that no file can hold is no reason to reserve memory for it.
    fs::write(&files[0], u64::MAX.to_le_bytes()).unwrap();
    drop(spool);
    assert!(!all(&mut open(folder.path()).0, 0).iter().any(|(n, _)| *n == 1));
}

#[test]
fn texts_that_are_too_long_keep_head_and_tail() {
    let text = format!("head{}tail", "文".repeat(limits::DETAIL_BYTES));
    let mut step = Step {
        action_name: "x".repeat(limits::ID_BYTES + 1),
        action_detail: text.clone(),
        observation: "short".to_owned(),
        decision: Some(Decision {
            chosen: text.clone(),
            rejected: vec![text; 100],
            rationale: String::new(),
        }),
        ..Step::default()
    };
    assert_eq!(fit::step(&mut step), Ok(true));
    let detail = &step.action_detail;
    assert!(detail.len() <= limits::DETAIL_BYTES && detail.len() > limits::DETAIL_BYTES - 16);
    assert!(detail.starts_with("head") && detail.ends_with("tail") && detail.contains("bytes left out"));
    assert!(step.action_name.len() <= limits::ID_BYTES);
    assert_eq!(step.action_type(), ActionType::ToolCall, "told by its name");
    assert_eq!(step.decision.as_ref().unwrap().rejected.len(), limits::TAGS);
    assert_eq!(fit::step(&mut step), Ok(false), "once is enough");

    let mut end = Outcome { evidence: vec![OutcomeEvidence::default(); 100], ..Outcome::default() };
    assert!(fit::outcome(&mut end) && end.evidence.len() == limits::TAGS);
}

#[test]
fn what_the_server_would_refuse_names_every_field() {
    let mut step = Step {
        action_type: ActionType::ToolCall.into(),
        action_name: " ".to_owned(),
        agent: "\u{0}".to_owned(),
        decision: Some(Decision::default()),
        started_at: Some(prost_types::Timestamp { seconds: 2, nanos: 0 }),
        ended_at: Some(prost_types::Timestamp { seconds: 1, nanos: 9 }),
        ..Step::default()
    };
    let fields: Vec<_> = fit::step(&mut step).unwrap_err().fields.into_iter().map(|f| f.field).collect();
    assert_eq!(fields, ["step.action_name", "step.decision.chosen", "step.ended_at", "step.agent"]);
    step.action_type = 99;
    assert!(fit::step(&mut step).unwrap_err().to_string().starts_with("step.action_type: 99 "));
}

#[test]
fn acknowledgements_name_positions() {
    let mut in_flight = InFlight::default();
    assert_eq!([7, 8, 9, 12].map(|position| in_flight.sent(position)), [1, 2, 3, 4]);
    assert_eq!(in_flight.acknowledge(2), Some((2, 8)));
    assert_eq!(in_flight.acknowledge(2), None, "said before");
    assert_eq!(in_flight.sent(13), 5);
    assert_eq!(
        in_flight.acknowledge(u64::MAX),
        Some((3, 13)),
        "a server cannot acknowledge what was not sent"
    );
    assert!(in_flight.is_empty());
}

/// What happens to a spool.
#[derive(Debug, Clone)]
enum Happening {
    Append(Vec<u8>),
    /// Of what is not acknowledged, this part.
    Acknowledge(f64),
    /// The process dies, in the middle of writing so many bytes more.
    Die(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Happening::Append),
        3 => (0.0..=1.0).prop_map(Happening::Acknowledge),
        1 => (0..40_u8).prop_map(Happening::Die),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_spool_holds_all_that_is_not_acknowledged_in_order(happenings in prop::collection::vec(happening(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, _) = open(folder.path());
        let (mut written, mut acknowledged, mut held) = (Vec::<(u64, Vec<u8>)>::new(), 0, 0);
        for happening in happenings {
            match happening {
                Happening::Append(payload) => {
                    held += HEADER + payload.len() as u64;
                    written.push((spool.append(&payload).unwrap(), payload));
                }
                Happening::Acknowledge(part) => {
                    let open = written.iter().filter(|(n, _)| *n > acknowledged).count();
                    let count = (open as f64 * part) as usize;
                    let last = written.len() - open + count;
                    acknowledged = last.checked_sub(1).map_or(acknowledged, |i| written[i].0.max(acknowledged));
                    held -= spool.acknowledge(acknowledged).unwrap();
                }
                Happening::Die(torn) => {
                    drop(spool);
                    if let Some(last) = files(folder.path()).last() {
                        let mut bytes = fs::read(last).unwrap();
                        bytes.extend(std::iter::repeat_n(0xff, torn.into()));
                        fs::write(last, bytes).unwrap();
                    }
                    let (again, found) = open(folder.path());
                    prop_assert_eq!(found.bytes, held);
                    spool = again;
                    if found.records == 0 {
                        // Positions may begin anew once nothing is left.
                        (written, acknowledged) = (Vec::new(), 0);
                    }
                }
            }
            let expected: Vec<_> = written.iter().filter(|(n, _)| *n > acknowledged).cloned().collect();
            prop_assert_eq!(all(&mut spool, acknowledged), expected);
            let on_disk: u64 = files(folder.path()).iter().map(|f| f.metadata().unwrap().len()).sum();
            prop_assert_eq!(on_disk, held);
        }
    }
}
