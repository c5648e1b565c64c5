//! Reads the recorded investigations: a folder each, with a `test_case.yaml` and the results of tools.

use std::{fs, path::Path};

use anyhow::Context as _;
use serde_json::Value;

/// One investigation.
pub(super) struct Case {
    pub(super) name: String,
    /// What was asked, or the alert.
    pub(super) task: String,
    /// The expected root cause, a sentence each.
    pub(super) causes: Vec<String>,
    pub(super) outputs: Vec<Output>,
}

/// What one call of a tool brought.
pub(super) struct Output {
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) raw: String,
}

/// Every investigation below `folder` that has results of tools, in the order of their names.
pub(super) fn cases(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for group in entries(folder)? {
        for path in entries(&group)? {
            let description = path.join("test_case.yaml");
            if !description.is_file() {
                continue;
            }
            let text = fs::read_to_string(&description).with_context(|| description.display().to_string())?;
            let case = Case {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                task: task(&path, &text),
                causes: field(&text, "expected_output"),
                outputs: outputs(&path)?,
            };
            if !case.outputs.is_empty() && !case.causes.is_empty() {
                cases.push(case);
            }
        }
    }
    Ok(cases)
}

/// The question, or the alert that began the investigation.
fn task(path: &Path, description: &str) -> String {
    match field(description, "user_prompt").join(" ") {
        asked if !asked.is_empty() => asked,
        _ => fs::read_to_string(path.join("investigate_request.json")).unwrap_or_default(),
    }
}

fn entries(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let Ok(read) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = read.map(|e| Ok(e?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn outputs(case: &Path) -> anyhow::Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for path in entries(case)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "txt")) {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        outputs.extend(output(name, &text));
    }
    Ok(outputs)
}

/// Two lines of JSON (the call; its status), then what the tool printed. A failed call that printed nothing
/// has its message in the second line. `None` for another file, and where nothing came back.
fn output(name: String, text: &str) -> Option<Output> {
    let mut lines = text.splitn(3, '\n');
    let call: Value = serde_json::from_str(lines.next()?).ok()?;
    let status: Value = serde_json::from_str(lines.next()?).ok()?;
    let arguments = call.get("match_params")?.to_string();
    let tool = call.get("tool_name")?.as_str()?.to_owned();
    let printed = lines.next().unwrap_or_default();
    let raw = if printed.trim().is_empty() { status.get("error")?.as_str()? } else { printed };
    Some(Output { name, tool, arguments, raw: raw.to_owned() })
}

/// The value of a top-level key of a YAML file as these files write it: on one line, as a list, or as a block.
fn field(yaml: &str, key: &str) -> Vec<String> {
    let mut lines = yaml.lines().skip_while(|l| !l.starts_with(&format!("{key}:")));
    let Some(first) = lines.next() else { return Vec::new() };
    let inline = first[key.len() + 1..].trim();
    let body = lines.take_while(|l| l.is_empty() || l.starts_with([' ', '-', '#']));
    let rest = body.map(|l| l.trim().trim_start_matches("- "));
    let all =
        std::iter::once(inline).chain(rest).filter(|l| !l.is_empty() && !matches!(*l, "|" | ">" | "|-"));
    all.map(unquoted).collect()
}

fn unquoted(value: &str) -> String {
    let inner = |mark: char| value.strip_prefix(mark).and_then(|v| v.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).map_or_else(|| value.to_owned(), |v| v.replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::{field, output};

    #[test]
    fn values_are_read_in_their_three_forms() {
        let yaml =
            "a: 'x: 1'\nexpected_output:\n  - one \"two\"\n  - \"three\"\nb: |\n  four\n  five\nc: 6\n";
        assert_eq!(field(yaml, "a"), ["x: 1"]);
        assert_eq!(field(yaml, "expected_output"), ["one \"two\"", "three"]);
        assert_eq!(field(yaml, "b"), ["four", "five"]);
        assert!(field(yaml, "d").is_empty());
    }

    #[test]
    fn a_failed_call_that_printed_nothing_has_its_message() {
        let text = "{\"tool_name\":\"get\",\"match_params\":{\"pod\":\"web-1\"}}\n{\"error\":\"pod web-1 not found\"}\n";
        let o = output("x".to_owned(), text).unwrap();
        assert_eq!((&*o.raw, &*o.arguments), ("pod web-1 not found", "{\"pod\":\"web-1\"}"));
        assert!(output("x".to_owned(), "no json").is_none());
    }
}
