//! Whatever comes in, reading ends, does not panic and gives the same the second time.

use hindsight_import::{FORMATS, Importer};
use hindsight_types::limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{SAMPLES, options};

fn read(bytes: &[u8], format: Option<usize>) -> Vec<Result<String, String>> {
    let mut options = options();
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
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("line ") && !error.reason.is_empty(), "{text}");
                Err(text)
            }
        })
        .collect()
}

fn any_format() -> impl Strategy<Value = Option<usize>> {
    proptest::option::of(0..FORMATS.len())
}

/// Keys and words that formats look for, in places where they do not expect them.
fn any_json() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 48] = [
        "type",
        "role",
        "content",
        "messages",
        "steps",
        "history",
        "tool_calls",
        "name",
        "id",
        "trace_id",
        "traceId",
        "run_type",
        "inputs",
        "outputs",
        "input",
        "output",
        "event",
        "on_tool_start",
        "on_chain_end",
        "run_id",
        "parent_ids",
        "data",
        "object",
        "trace.span",
        "span_data",
        "generation",
        "schema_version",
        "ATIF-v1.8",
        "source",
        "agent",
        "user",
        "observation",
        "results",
        "observations",
        "GENERATION",
        "SPAN",
        "startTime",
        "payload",
        "error",
        "assistant",
        "tool",
        "lc",
        "kwargs",
        "function",
        "child_runs",
        "parent_run_id",
        "TextMessage",
        "Thought: x",
    ];
    let word = || proptest::sample::select(&WORDS[..]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
        "[a-z中]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(word().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600), format in any_format()) {
        prop_assert_eq!(read(&bytes, format), read(&bytes, format));
    }

    #[test]
    fn json_like_text(text in r#"[\[\]{},:"\\ a\n0-9]{0,200}"#, format in any_format()) {
        read(text.as_bytes(), format);
    }

    /// JSON of the right words in the wrong places, a line each.
    #[test]
    fn json_of_the_right_words(values in proptest::collection::vec(any_json(), 1..6), format in any_format()) {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        read(lines.join("\n").as_bytes(), format);
    }

    /// Real records with a field replaced by something else.
    #[test]
    fn a_field_of_another_kind(
        sample in 0..SAMPLES.len(),
        place in any::<prop::sample::Index>(),
        instead in any_json(),
    ) {
        let (_, text, format) = SAMPLES[sample];
        let format = FORMATS.iter().position(|f| f.name() == format);
        let whole = serde_json::from_str::<Value>(text).map(|v| vec![v]);
        let mut values = whole.unwrap_or_else(|_| text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect());
        prop_assume!(!values.is_empty());
        let i = place.index(values.len());
        replace(&mut values[i], &place, instead);
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        read(lines.join("\n").as_bytes(), format);
    }

    /// Real records with bytes changed or the end cut off, read as any format.
    #[test]
    fn damaged_samples(
        sample in 0..SAMPLES.len(),
        cut in 0.0..1.0f64,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        format in any_format(),
    ) {
        let mut bytes = SAMPLES[sample].1.as_bytes().to_vec();
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

/// Puts `instead` somewhere inside.
fn replace(value: &mut Value, place: &prop::sample::Index, instead: Value) {
    let inner = match value {
        Value::Array(list) if !list.is_empty() => {
            let i = place.index(list.len());
            list.get_mut(i)
        }
        Value::Object(fields) if !fields.is_empty() => {
            let i = place.index(fields.len());
            fields.values_mut().nth(i)
        }
        _ => None,
    };
    match inner {
        Some(inner) if (inner.is_object() || inner.is_array()) && place.index(3) > 0 => {
            replace(inner, place, instead)
        }
        Some(inner) => *inner = instead,
        None => *value = instead,
    }
}

/// Nesting that would exhaust the stack of a careless reader ends as an error or a run.
#[test]
fn deep_nesting_ends() {
    // As deep as the parser goes, and deeper.
    let nested = |key: &str| {
        let part = json!({"id": "x", "run_type": "chain", "role": "user", "type": "SPAN", "traceId": "t"})
            .to_string();
        let open = part.replace('}', &format!(",\"{key}\":[")).repeat(60);
        open + &part + &"]}".repeat(60)
    };
    for format in 0..FORMATS.len() {
        for key in ["child_runs", "content", "messages", "observations", "data", "history"] {
            let text = nested(key);
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{key}");
            read(text.as_bytes(), Some(format));
        }
        read("[".repeat(100_000).as_bytes(), Some(format));
        read("{\"a\":".repeat(100_000).as_bytes(), Some(format));
    }
}

/// Spans that name each other as parents.
#[test]
fn circles_of_spans_end() {
    let span = |id: &str, parent: &str| {
        json!({"object": "trace.span", "id": id, "trace_id": "t", "parent_id": parent, "span_data":
            {"type": "generation", "input": [{"role": "user", "content": "q"}], "output": [{"role": "assistant", "content": "a"}]}})
        .to_string()
    };
    let text = [span("a", "b"), span("b", "a"), span("c", "c")].join("\n");
    assert_eq!(read(text.as_bytes(), None), [Ok("t".to_owned())]);
}
