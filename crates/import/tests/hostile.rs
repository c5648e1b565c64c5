//! Whatever comes in, reading ends, does not panic and gives the same the second time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use hindsight_import::{FORMATS, Importer, Options};
use hindsight_types::{TenantId, Timestamp, limits};
use proptest::prelude::*;

const SAMPLES: [&str; 7] = [
    include_str!("samples/chat_runs.json"),
    include_str!("samples/messages.jsonl"),
    include_str!("samples/swe.traj"),
    include_str!("samples/claude.jsonl"),
    include_str!("samples/codex.jsonl"),
    include_str!("samples/codex_flat.jsonl"),
    include_str!("samples/hindsight.jsonl"),
];

fn read(bytes: &[u8], format: Option<usize>) -> Vec<Result<String, String>> {
    let mut options = Options::new(TenantId::new("acme").unwrap(), Timestamp::UNIX_EPOCH);
    options.format = format.map(|i| FORMATS[i]);
    let Ok(importer) = Importer::new(bytes, &options) else { return Vec::new() };
    importer
        .map(|item| match item {
            Ok(run) => {
                assert!(!run.steps.is_empty() && !run.task_description.is_empty());
                assert!(run.steps.len() <= limits::STEPS);
                assert!(run.steps.iter().enumerate().all(|(i, s)| s.step_index as usize == i));
                Ok(run.trace_id.to_string())
            }
            Err(error) => Err(error.to_string()),
        })
        .collect()
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600), format in proptest::option::of(0..FORMATS.len())) {
        prop_assert_eq!(read(&bytes, format), read(&bytes, format));
    }

    #[test]
    fn json_like_text(text in r#"[\[\]{},:"\\ a\n0-9]{0,200}"#, format in proptest::option::of(0..FORMATS.len())) {
        read(text.as_bytes(), format);
    }

    /// Real records with bytes changed or the end cut off, read as any format.
    #[test]
    fn damaged_samples(
        sample in 0..SAMPLES.len(),
        cut in 0.0..1.0f64,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        format in proptest::option::of(0..FORMATS.len()),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        bytes.truncate((bytes.len() as f64 * cut) as usize + 1);
        for (index, byte) in changes {
            let i = index.index(bytes.len());
            bytes[i] = byte;
        }
        prop_assert_eq!(read(&bytes, format), read(&bytes, format));
    }

    /// A broken line takes nothing with it but itself.
    #[test]
    fn a_broken_line_between_lines(garbage in "[^\n{\\[]{1,40}", at in 0usize..3) {
        let run = |id: &str| format!(
            r#"{{"trace_id":"{id}","task_description":"x","steps":[{{"action_type":"USER_INPUT","action_detail":"y"}}]}}"#
        );
        prop_assume!(!garbage.trim().is_empty());
        let mut lines = vec![run("a"), run("b")];
        lines.insert(at, garbage);
        let got = read(lines.join("\n").as_bytes(), Some(0));
        prop_assert_eq!(got.iter().filter(|r| r.is_ok()).count(), 2);
        prop_assert!(got.iter().any(Result::is_err));
    }
}
