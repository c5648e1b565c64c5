//! Folders of real recordings, where `HINDSIGHT_DATA` names them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use hindsight_import::{Importer, Options};
use hindsight_types::{OutcomeStatus, StepStatus, TenantId, Timestamp};

fn data() -> Option<PathBuf> {
    let path = std::env::var_os("HINDSIGHT_DATA").map(PathBuf::from);
    if path.is_none() {
        eprintln!("SKIPPED: set HINDSIGHT_DATA to the folder of recorded runs");
    }
    path
}

fn read(path: &Path) -> (&'static str, Vec<hindsight_types::Trajectory>, Vec<String>) {
    let options = Options::new(TenantId::new("acme").unwrap(), Timestamp::UNIX_EPOCH);
    let importer = Importer::new(BufReader::new(File::open(path).unwrap()), &options)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let format = importer.format().name();
    let (mut runs, mut errors) = (Vec::new(), Vec::new());
    for item in importer {
        match item {
            Ok(run) => runs.push(run),
            Err(e) => errors.push(e.to_string()),
        }
    }
    (format, runs, errors)
}

#[test]
fn tool_calling_runs_with_a_reward() {
    let Some(data) = data() else { return };
    let (format, runs, errors) = read(&data.join("tau_airline/trajectories.json"));
    assert_eq!((format, runs.len(), errors), ("openai-chat", 100, vec![]));
    let good = runs.iter().filter(|r| r.outcome.resolved() == OutcomeStatus::Success).count();
    assert_eq!(good, 49);
    let calls = runs.iter().flat_map(|r| &r.steps).filter(|s| !s.action_name.is_empty());
    assert_eq!(calls.count(), 577);
    let ids: std::collections::HashSet<_> = runs.iter().map(|r| &r.trace_id).collect();
    assert_eq!(ids.len(), 100);
}

#[test]
fn search_agent_runs_with_labels() {
    let Some(data) = data() else { return };
    let (format, runs, errors) = read(&data.join("agentprocessbench/hotpotqa_dev.jsonl"));
    assert_eq!((format, runs.len(), errors), ("openai-chat", 125, vec![]));
    assert!(runs.iter().all(|r| r.outcome.resolved() != OutcomeStatus::Unknown));
}

#[test]
fn swe_agent_runs() {
    let Some(data) = data() else { return };
    for (file, steps) in [("pydicom__pydicom-1458.traj", 12), ("swe-agent__test-repo-i1.traj", 5)] {
        let (format, runs, errors) = read(&data.join("swe_agent_traj").join(file));
        assert_eq!((format, runs.len(), errors), ("swe-agent", 1, vec![]));
        assert_eq!(runs[0].steps.len(), steps);
        assert!(!runs[0].task_description.contains("DEMONSTRATION"));
    }
}

#[test]
fn claude_code_sessions() {
    let Some(data) = data() else { return };
    let folder = data.join("claude_code_jsonl");
    let (format, runs, errors) = read(&folder.join("representative_messages.jsonl"));
    assert_eq!((format, runs.len(), errors), ("claude-code", 1, vec![]));
    assert_eq!(runs[0].trace_id.as_str(), "test_session");
    let (_, runs, errors) = read(&folder.join("edge_cases.jsonl"));
    assert!(runs.iter().any(|r| r.steps.iter().any(|s| s.status == StepStatus::Error)));
    let mut lines: Vec<_> =
        errors.iter().filter_map(|e| e.split([' ', ':']).nth(1)?.parse::<u64>().ok()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [10, 11, 13, 14, 15, 16, 17, 18], "{errors:#?}");
}

#[test]
fn codex_sessions() {
    let Some(data) = data() else { return };
    let folder = data.join("claude_code_jsonl/codex_messages");
    let (format, _, errors) = read(&folder.join("tools/async-command.json"));
    // Excerpts without the user's words: read, and refused for that reason alone.
    assert_eq!((format, errors.len()), ("codex", 1));
    assert!(errors[0].contains("no message of a user"), "{errors:?}");
}

#[test]
fn failed_runs_of_several_agents() {
    let Some(data) = data() else { return };
    let (mut runs, mut steps, mut failed) = (0, 0, 0);
    for folder in ["Algorithm-Generated", "Hand-Crafted"] {
        for entry in std::fs::read_dir(data.join("who_and_when").join(folder)).unwrap() {
            let (format, read, errors) = read(&entry.unwrap().path());
            assert_eq!((format, read.len(), errors), ("autogen", 1, vec![]));
            assert_eq!(read[0].outcome.resolved(), OutcomeStatus::Failure);
            runs += 1;
            steps += read[0].steps.len();
            failed += read[0].steps.iter().filter(|s| s.status == StepStatus::Error).count();
        }
    }
    eprintln!("{runs} runs, {steps} steps, {failed} failed");
    assert_eq!(runs, 92);
    assert!(steps > 1000 && failed > 20, "{steps} steps, {failed} failed");
}
