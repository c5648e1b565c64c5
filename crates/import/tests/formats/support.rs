//! Reads samples.

use hindsight_import::{Importer, Options, RecordError};
use hindsight_types::{ActionType, StepStatus, TenantId, Timestamp, Trajectory};

pub(crate) fn options() -> Options {
    Options::new(TenantId::new("acme").unwrap(), "2026-06-01T00:00:00Z".parse::<Timestamp>().unwrap())
}

pub(crate) struct Read {
    pub format: &'static str,
    pub runs: Vec<Trajectory>,
    pub errors: Vec<RecordError>,
}

pub(crate) fn read_with(text: &str, options: &Options) -> Read {
    let importer = Importer::new(text.as_bytes(), options).unwrap();
    let format = importer.format().name();
    let (runs, errors): (Vec<_>, Vec<_>) = importer.partition(Result::is_ok);
    Read {
        format,
        runs: runs.into_iter().map(Result::unwrap).collect(),
        errors: errors.into_iter().map(Result::unwrap_err).collect(),
    }
}

pub(crate) fn read(text: &str) -> Read {
    read_with(text, &options())
}

/// Kind, tool and status of each step.
pub(crate) fn outline(run: &Trajectory) -> Vec<(ActionType, &str, StepStatus)> {
    run.steps.iter().map(|s| (s.action_type, s.action_name.as_str(), s.status)).collect()
}

/// Name, sample and format of every sample.
pub(crate) const SAMPLES: [(&str, &str, &str); 19] = [
    ("chat_runs.json", include_str!("../samples/chat_runs.json"), "openai-chat"),
    ("messages.jsonl", include_str!("../samples/messages.jsonl"), "openai-chat"),
    ("swe.traj", include_str!("../samples/swe.traj"), "swe-agent"),
    ("claude.jsonl", include_str!("../samples/claude.jsonl"), "claude-code"),
    ("claude_sidechain.jsonl", include_str!("../samples/claude_sidechain.jsonl"), "claude-code"),
    ("codex.jsonl", include_str!("../samples/codex.jsonl"), "codex"),
    ("codex_flat.jsonl", include_str!("../samples/codex_flat.jsonl"), "codex"),
    ("hindsight.jsonl", include_str!("../samples/hindsight.jsonl"), "hindsight"),
    ("atif.json", include_str!("../samples/atif.json"), "atif"),
    ("openai_agents.jsonl", include_str!("../samples/openai_agents.jsonl"), "openai-agents"),
    ("langchain_events.jsonl", include_str!("../samples/langchain_events.jsonl"), "langchain"),
    ("langchain_callbacks.jsonl", include_str!("../samples/langchain_callbacks.jsonl"), "langchain"),
    ("langsmith.jsonl", include_str!("../samples/langsmith.jsonl"), "langsmith"),
    ("langfuse.json", include_str!("../samples/langfuse.json"), "langfuse"),
    ("langfuse_rows.jsonl", include_str!("../samples/langfuse_rows.jsonl"), "langfuse"),
    ("autogen_team.jsonl", include_str!("../samples/autogen_team.jsonl"), "autogen"),
    ("autogen_group.json", include_str!("../samples/autogen_group.json"), "autogen"),
    ("autogen_orchestra.json", include_str!("../samples/autogen_orchestra.json"), "autogen"),
    ("react.txt", include_str!("../samples/react.txt"), "react"),
];
