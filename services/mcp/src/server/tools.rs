//! The tools. Descriptions are read by models.

use hindsight_codec::time_to_proto;
use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest},
    common::v1::{Environment, FeedbackVerdict, MemoryKind, OutcomeStatus, memory::Kind},
    recall::v1::{
        ExplainRecallRequest, RecallRequest, RecallResponse, RecalledMemory, ReportOutcomeRequest,
        ReportedItem,
    },
};
use hindsight_types::Timestamp;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, Extensions},
    tool, tool_router,
};
use tonic::Code;

use super::{
    MemoryServer,
    arguments::Parameters,
    failure, json,
    parameters::{Ending, Explain, RecallExperience, RecallUserMemory, ReportOutcome, Retain},
};

/// Withheld memories that an explanation names.
const WITHHELD: usize = 10;

type Told = Result<CallToolResult, ErrorData>;

#[tool_router(vis = "pub(super)")]
impl MemoryServer {
    #[tool(
        description = "Recall what earlier runs of similar tasks taught: the steps that led to success, dead ends, lessons, and calls that are known to fail with what to do instead. Call it before starting a task of several steps and when stuck. The answer is a block of text, and a receipt for report_outcome. \"Nothing relevant\" is a normal answer.",
        annotations(title = "Recall experience", read_only_hint = true, open_world_hint = false)
    )]
    async fn recall_experience(
        &self,
        Parameters(p): Parameters<RecallExperience>,
        extensions: Extensions,
    ) -> Told {
        self.recall(RecallRequest { kinds: experience(), ..experience_request(p) }, &extensions).await
    }

    #[tool(
        description = "Recall what a user said in earlier conversations: preferences, orders, promises, who they are, what happened when. Call it when the user refers to something said before, or when knowing them would change the answer. The answer is a block of text, and a receipt for report_outcome.",
        annotations(title = "Recall user memory", read_only_hint = true, open_world_hint = false)
    )]
    async fn recall_user_memory(
        &self,
        Parameters(p): Parameters<RecallUserMemory>,
        extensions: Extensions,
    ) -> Told {
        let request = RecallRequest {
            query: p.question,
            user: p.user,
            kinds: vec![MemoryKind::Fact.into()],
            limit: p.limit.unwrap_or_default(),
            recent: p.recent.unwrap_or_default(),
            time_zone: p.time_zone.unwrap_or_default(),
            ..RecallRequest::default()
        };
        self.recall(request, &extensions).await
    }

    #[tool(
        description = "Keep something a user said that will matter in later conversations: a preference, a fact about them, an order, a promise, a date. One statement per call. Do not keep secrets such as passwords, and not what only matters now. Greetings and thanks are not kept, and the answer says so.",
        annotations(
            title = "Retain",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn retain(&self, Parameters(p): Parameters<Retain>, extensions: Extensions) -> Told {
        let request = RetainRequest {
            occurred_at: time("occurred_at", p.occurred_at)?,
            expires_at: time("expires_at", p.expires_at)?,
            user: p.user,
            content: p.content,
            key: p.key.unwrap_or_default(),
            speaker: p.speaker.unwrap_or_default(),
            session: p.session.unwrap_or_default(),
            r#type: p.kind.map_or(0, |k| k.to_proto().into()),
            consistency: Consistency::Indexed.into(),
            force: p.force.unwrap_or_default(),
            ..RetainRequest::default()
        };
        let kept = match self.access.note(self.access.of(&extensions).await?.retain(request).await) {
            Ok(kept) => kept,
            Err(e) if e.code == Code::DeadlineExceeded => return said("Kept. It will be found in a while."),
            Err(e) => return Ok(failure::told(&e)),
        };
        match kept.not_retained {
            Some(why) => said(format!("Not kept: {}. Set `force` to keep it all the same.", why.message)),
            None if kept.summarised => {
                said(format!("Kept as {}, with a summary of it in its own words.", kept.memory_id))
            }
            None => said(format!("Kept as {}.", kept.memory_id)),
        }
    }

    #[tool(
        description = "Say what became of recalled memories: which helped, misled, were followed or did not matter, and how the task ended. Call it once a task that used recalled memories is done. It decides what is recalled next time; the last word on a memory counts.",
        annotations(
            title = "Report outcome",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn report_outcome(&self, Parameters(p): Parameters<ReportOutcome>, extensions: Extensions) -> Told {
        let verdicts = [
            (p.helpful, FeedbackVerdict::Helpful),
            (p.harmful, FeedbackVerdict::Harmful),
            (p.used, FeedbackVerdict::Used),
            (p.ignored, FeedbackVerdict::Ignored),
        ];
        let items = verdicts.into_iter().flat_map(|(ids, verdict)| {
            ids.unwrap_or_default()
                .into_iter()
                .map(move |memory_id| ReportedItem { memory_id, verdict: verdict.into() })
        });
        let request = ReportOutcomeRequest {
            receipt_id: p.receipt_id,
            user: p.user.unwrap_or_default(),
            trace_id: p.trace_id.unwrap_or_default(),
            outcome: p.outcome.map_or(OutcomeStatus::Unspecified, Ending::to_proto).into(),
            items: items.collect(),
            note: p.note.unwrap_or_default(),
        };
        match self.access.note(self.access.of(&extensions).await?.report_outcome(request).await) {
            Ok(known) => said(format!("Noted for {} memories.", known.feedback.len())),
            Err(e) => Ok(failure::told(&e)),
        }
    }

    #[tool(
        description = "Say how a recall came to its answer: what was asked and understood, what was searched, what was given with each score, what was withheld and why. With `expected_memory_id` also why that memory did not come. For when a recall surprises; the answer is JSON.",
        annotations(title = "Explain a recall", read_only_hint = true, open_world_hint = false)
    )]
    async fn explain(&self, Parameters(p): Parameters<Explain>, extensions: Extensions) -> Told {
        let request = ExplainRecallRequest {
            receipt_id: p.receipt_id,
            user: p.user.unwrap_or_default(),
            expect: p.expected_memory_id.unwrap_or_default(),
        };
        let mut told =
            match self.access.note(self.access.of(&extensions).await?.explain_recall(request).await) {
                Ok(told) => told,
                Err(e) => return Ok(failure::told(&e)),
            };
        if let Some(receipt) = &mut told.receipt {
            receipt.withheld.truncate(WITHHELD);
        }
        said(json::of_message("hindsight.recall.v1.ExplainRecallResponse", &told)?)
    }
}

impl MemoryServer {
    async fn recall(&self, request: RecallRequest, extensions: &Extensions) -> Told {
        match self.access.note(self.access.of(extensions).await?.recall(request).await) {
            Ok(found) => Ok(CallToolResult::success(recalled(&found))),
            Err(e) => Ok(failure::told(&e)),
        }
    }
}

fn experience() -> Vec<i32> {
    [MemoryKind::Experience, MemoryKind::Lesson, MemoryKind::FailurePattern].map(Into::into).to_vec()
}

/// For everything that bears on a task.
pub(super) fn experience_request(p: RecallExperience) -> RecallRequest {
    RecallRequest {
        query: p.task,
        user: p.user.unwrap_or_default(),
        task_type: p.task_type.unwrap_or_default(),
        environment: Some(Environment { tags: p.environment.unwrap_or_default(), ..Environment::default() }),
        limit: p.limit.unwrap_or_default(),
        ..RecallRequest::default()
    }
}

/// The block by itself, and what `report_outcome` takes.
pub(super) fn recalled(found: &RecallResponse) -> Vec<ContentBlock> {
    if found.items.is_empty() {
        let words = format!("Nothing relevant is remembered: {}.", found.empty_reason.trim_end_matches('.'));
        return vec![ContentBlock::text(words)];
    }
    let names: Vec<_> = found.items.iter().filter_map(named).collect();
    let for_report = format!("receipt_id: {}\nmemory ids, in order: {}", found.receipt_id, names.join(", "));
    let mut blocks = vec![ContentBlock::text(&found.block), ContentBlock::text(for_report)];
    if found.degraded {
        blocks.push(ContentBlock::text("Not everything could be searched in time; there may be more."));
    }
    blocks
}

/// The id and kind of a memory.
fn named(item: &RecalledMemory) -> Option<String> {
    let (id, kind) = match item.memory.as_ref()?.kind.as_ref()? {
        Kind::Fact(m) => (&m.memory_id, "fact"),
        Kind::Experience(m) => (&m.memory_id, "experience"),
        Kind::Lesson(m) => (&m.memory_id, "lesson"),
        Kind::FailurePattern(m) => (&m.memory_id, "failure pattern"),
        Kind::Step(m) => (&m.memory_id, "step"),
    };
    Some(format!("{id} ({kind})"))
}

fn said(words: impl Into<String>) -> Told {
    Ok(CallToolResult::success(vec![ContentBlock::text(words)]))
}

fn time(field: &str, value: Option<String>) -> Result<Option<prost_types::Timestamp>, ErrorData> {
    let Some(value) = value else { return Ok(None) };
    let parsed: Result<Timestamp, _> = value.parse();
    parsed.map(|t| Some(time_to_proto(t))).map_err(|e| {
        let message = format!("{field}: `{value}` is no time: {e}; write it as 2026-03-01T09:30:00Z");
        ErrorData::invalid_params(message, None)
    })
}
