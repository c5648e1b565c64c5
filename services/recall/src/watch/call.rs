//! A call as it is compared with known failures, and as it is told.

use std::borrow::Cow;

use hindsight_judge::{effect, signature};
use hindsight_rank::watch::{Signs, arguments, completed, kept};
use hindsight_text::truncate_chars;
use hindsight_types::{ActionType, MemoryId, Step, StepStatus, Viewer};

/// Characters of an error that are told.
const TOLD: usize = 300;

/// What a call is for, and the words of its arguments.
pub(crate) fn signs(tool: &str, detail: &str) -> Signs {
    let detail = shown(detail);
    let told = arguments(&detail);
    let step = Step {
        step_index: 0,
        action_type: ActionType::ToolCall,
        action_name: tool.to_owned(),
        action_detail: completed(&detail).into_owned(),
        observation: String::new(),
        status: StepStatus::Unknown,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    };
    Signs::new(&effect::purpose(&step), &told)
}

/// Arguments as a person would write them.
pub(super) fn told(detail: &str) -> String {
    arguments(&shown(detail))
}

/// Short and without secrets: so is what is kept of a call that failed.
fn shown(detail: &str) -> String {
    hindsight_ingest::redact::text(&kept(detail)).into_owned()
}

/// The line of an output that says what went wrong.
pub(super) struct Failure {
    pub(super) error: String,
    signature: String,
}

impl Failure {
    pub(super) fn of(output: &str) -> Self {
        let output: Cow<'_, str> = hindsight_ingest::redact::text(output);
        let error = truncate_chars(&signature::error_message(&output), TOLD).to_owned();
        Self { error, signature: signature::error_signature(&output) }
    }

    /// The patterns that hold this very failure of this tool, in each scope that the viewer sees.
    pub(super) fn patterns(&self, viewer: &Viewer, tool: &str) -> Vec<MemoryId> {
        if self.signature.is_empty() {
            return Vec::new();
        }
        let key = format!("{tool}\u{1f}{}", self.signature);
        let of = |visibility: hindsight_types::Visibility| {
            MemoryId::failure_pattern(&viewer.tenant, &visibility.keyword(), &key)
        };
        viewer.visibilities().into_iter().map(of).collect()
    }
}
