//! Runs with their reference labels: the importer reads the run, this finds which step a label means.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, ensure};
use hindsight_import::{Importer, Options};
use hindsight_types::{TenantId, Timestamp, Trajectory};
use serde_json::Value;

/// The file or folder, or `None` with a loud word when the data is not there.
pub(crate) fn present(data: &Path, file: &str) -> Option<std::path::PathBuf> {
    let path = data.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there; nothing was measured on it", path.display());
    None
}

/// Every run of a file, as the product imports it, with statuses as the product infers them.
pub(crate) fn runs(path: &Path) -> anyhow::Result<Vec<Trajectory>> {
    let options = Options::new(TenantId::new("quality")?, Timestamp::UNIX_EPOCH);
    let input = BufReader::new(File::open(path)?);
    let importer = Importer::new(input, &options).with_context(|| format!("{}", path.display()))?;
    let mut runs = Vec::new();
    for run in importer {
        let mut run = run.with_context(|| format!("{}", path.display()))?;
        for step in &mut run.steps {
            step.status = hindsight_ingest::status::infer(step);
        }
        runs.push(run);
    }
    Ok(runs)
}

/// Per message, the first step that was made of it. The user's first words are the task and no step.
pub(super) fn steps_of_messages(messages: &[Value], run: &Trajectory) -> anyhow::Result<Vec<Option<usize>>> {
    let mut next = 0;
    let mut task_seen = false;
    let mut out = Vec::new();
    for m in messages {
        let text = m["content"].as_str().is_some_and(|t| !t.trim().is_empty());
        let calls = m["tool_calls"].as_array().map_or(0, Vec::len);
        let made = match m["role"].as_str() {
            Some("assistant") if calls > 0 => calls,
            Some("assistant") if text => 1,
            Some("user") if text && task_seen => 1,
            Some("user") => {
                task_seen |= text;
                0
            }
            _ => 0,
        };
        out.push((made > 0).then_some(next));
        next += made;
    }
    ensure!(next == run.steps.len(), "{}: {next} steps expected, {} imported", run.trace_id, run.steps.len());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use hindsight_import::{Importer, Options};
    use hindsight_types::{TenantId, Timestamp};
    use serde_json::json;

    use super::steps_of_messages;

    #[test]
    fn every_message_points_at_the_step_the_importer_made_of_it() {
        let call = |id: &str| json!({"id": id, "function": {"name": "get", "arguments": "{}"}});
        let messages = json!([
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Where is my parcel?"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call("1"), call("2")]},
            {"role": "tool", "tool_call_id": "1", "content": "on its way"},
            {"role": "tool", "tool_call_id": "2", "content": "due on Monday"},
            {"role": "assistant", "content": "It comes on Monday."},
            {"role": "user", "content": "Thank you"}
        ]);
        let options = Options::new(TenantId::new("t").unwrap(), Timestamp::UNIX_EPOCH);
        let input = json!({ "messages": messages }).to_string();
        let run = Importer::new(input.as_bytes(), &options).unwrap().next().unwrap().unwrap();
        let steps = steps_of_messages(messages.as_array().unwrap(), &run).unwrap();
        assert_eq!(steps, [None, None, Some(0), None, None, Some(2), Some(3)]);
        assert_eq!(run.steps[2].action_detail, "It comes on Monday.");
    }
}
