//! How Codex writes down tools and what they print.

use hindsight_types::StepStatus;
use serde_json::Value;

use crate::{
    formats::status_of,
    json::{arguments_text, content_text, str_at},
};

/// Text that the program puts into the user's mouth.
pub(super) fn is_injected(text: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "<environment_context>",
        "<user_instructions>",
        "<user_shell_command>",
        "<turn_aborted>",
        "<permissions instructions>",
        "<skills_instructions>",
        "# AGENTS.md instructions",
    ];
    SIGNS.iter().any(|s| text.trim_start().starts_with(s))
}

/// `exec` runs a script that calls other tools; when it calls just one, that is the tool.
pub(super) fn tool_name<'a>(name: &'a str, input: &'a str) -> &'a str {
    if name != "exec" {
        return name;
    }
    let mut called = input.split("tools.").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    });
    match (called.next(), called.next()) {
        (Some(tool), None) if !tool.is_empty() => tool,
        _ => name,
    }
}

/// The command of a `local_shell_call`, as one line where it is `bash -lc LINE`.
pub(super) fn shell_command(action: Option<&Value>) -> String {
    let words: Option<Vec<&str>> = action
        .and_then(|a| a.get("command"))
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect());
    match words.as_deref() {
        Some([_, "-c" | "-lc", line]) => (*line).to_owned(),
        Some(words) => words.join(" "),
        None => arguments_text(action),
    }
}

/// What a call printed and whether it says itself that it worked.
pub(super) fn output(output: &Value) -> (String, StepStatus) {
    if let Some(content) = output.get("content") {
        return (
            content_text(content),
            status_of(output.get("success").and_then(Value::as_bool).map(|ok| !ok)),
        );
    }
    let text = content_text(output);
    if let Ok(report) = serde_json::from_str::<Value>(&text)
        && let Some(printed) = str_at(&report, "output").map(str::to_owned).or_else(|| empty_output(&report))
    {
        let code =
            report.get("exit_code").or_else(|| report.pointer("/metadata/exit_code")).and_then(Value::as_i64);
        return (with_code(printed, code), by_code(code));
    }
    let code = exit_line(&text);
    (text, by_code(code))
}

fn empty_output(report: &Value) -> Option<String> {
    report.get("output")?.as_str().map(str::to_owned)
}

/// An exit code that would be lost with the report around it.
fn with_code(printed: String, code: Option<i64>) -> String {
    match code {
        Some(code) if code != 0 => format!("{printed}\n[exit code {code}]"),
        _ => printed,
    }
}

fn by_code(code: Option<i64>) -> StepStatus {
    status_of(code.map(|c| c != 0))
}

/// The code in the heading that Codex puts above what a command printed; never one in the print itself.
fn exit_line(text: &str) -> Option<i64> {
    let heading = text.split_once("\nOutput:").map_or(text, |(head, _)| head);
    heading.lines().take(6).find_map(|line| {
        let code =
            line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))?;
        code.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_script_with_one_tool_is_that_tool() {
        assert_eq!(
            tool_name("exec", "const r = await tools.exec_command({cmd: 'ls'}); text(r)"),
            "exec_command"
        );
        assert_eq!(tool_name("exec", "tools.a(); tools.b()"), "exec");
        assert_eq!(tool_name("shell", "tools.a()"), "shell");
    }

    #[test]
    fn every_way_of_saying_the_exit_code_is_read() {
        let report = json!(r#"{"output":"boom\n","metadata":{"exit_code":2,"duration_seconds":0.1}}"#);
        assert_eq!(output(&report), ("boom\n\n[exit code 2]".to_owned(), StepStatus::Error));
        let parts = json!([{"type": "input_text", "text": "{\"output\":\"2 passed\\n\",\"exit_code\":0}"}]);
        assert_eq!(output(&parts), ("2 passed\n".to_owned(), StepStatus::Ok));
        let heading = json!("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nnot found");
        assert_eq!(output(&heading).1, StepStatus::Error);
        assert_eq!(output(&json!({"content": "ok", "success": true})), ("ok".to_owned(), StepStatus::Ok));
        assert_eq!(output(&json!("plain")), ("plain".to_owned(), StepStatus::Unknown));
        assert_eq!(output(&json!("log:\nOutput:\nExit code: 1")).1, StepStatus::Unknown);
    }

    #[test]
    fn a_shell_line_is_unwrapped() {
        let action = json!({"type": "exec", "command": ["bash", "-lc", "df -h | head"]});
        assert_eq!(shell_command(Some(&action)), "df -h | head");
    }
}
