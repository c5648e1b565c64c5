use hindsight_codec::time_to_proto;
use hindsight_proto::{
    common::v1::{Fact, Lesson, Memory, MemoryKind, memory},
    memory::v1::UpdateMemoryRequest,
};
use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};
use uuid::Uuid;

use super::history::changed;
use crate::{
    context::Context,
    names::{FactKind, Status},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the fact or lesson.
    id: String,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// Why; kept with the change.
    #[arg(long)]
    reason: String,
    /// What the fact says.
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Whether the fact holds.
    #[arg(long)]
    status: Option<Status>,
    /// How sure the fact is, 0 to 1.
    #[arg(long, value_name = "NUMBER")]
    confidence: Option<f32>,
    /// When the fact ends, as in 2026-05-08T00:00:00Z, or `never`.
    #[arg(long, value_name = "TIME", value_parser = end)]
    expires_at: Option<End>,
    /// What the user wanted by the fact.
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// A name in the fact; all of them, when any is given.
    #[arg(long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// What sort of thing the fact is.
    #[arg(long = "type", value_name = "TYPE")]
    fact_type: Option<FactKind>,
    /// When the lesson applies.
    #[arg(long, value_name = "TEXT", conflicts_with_all = FACT)]
    situation: Option<String>,
    /// What the lesson says to do.
    #[arg(long, value_name = "TEXT", conflicts_with_all = FACT)]
    advice: Option<String>,
    /// Where the lesson holds and where it may not.
    #[arg(long, value_name = "TEXT", conflicts_with_all = FACT)]
    applicability: Option<String>,
    /// Only if it is still this version; see `history`.
    #[arg(long, value_name = "VERSION")]
    etag: Option<String>,
}

const FACT: [&str; 7] = ["content", "status", "confidence", "expires_at", "intent", "entities", "fact_type"];

#[derive(Debug, Clone, Copy)]
enum End {
    Never,
    At(Timestamp),
}

fn end(text: &str) -> Result<End, String> {
    if text == "never" {
        return Ok(End::Never);
    }
    text.parse().map(End::At).map_err(|e| format!("give a time as in 2026-05-08T00:00:00Z, or `never`: {e}"))
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = request(args)?;
    let response =
        Box::pin(context.with_client(|client| async move { Ok(client.update_memory(request).await?) }))
            .await?;
    context.ui.message("hindsight.memory.v1.UpdateMemoryResponse", &response, |r| {
        changed(r.memory.as_ref(), &r.etag)
    })?;
    Ok(0)
}

fn request(args: Args) -> Result<UpdateMemoryRequest, Failure> {
    let (mut fact, mut lesson, mut paths) = (Fact::default(), Lesson::default(), Vec::new());
    let mut set = |name: &str, given: bool| {
        if given {
            paths.push(name.to_owned());
        }
    };
    set("content", args.content.is_some());
    set("status", args.status.is_some());
    set("confidence", args.confidence.is_some());
    set("expires_at", args.expires_at.is_some());
    set("intent", args.intent.is_some());
    set("entities", !args.entities.is_empty());
    set("type", args.fact_type.is_some());
    let is_fact = !paths.is_empty();
    let mut set = |name: &str, given: bool| {
        if given {
            paths.push(name.to_owned());
        }
    };
    set("situation", args.situation.is_some());
    set("advice", args.advice.is_some());
    set("applicability", args.applicability.is_some());
    if paths.is_empty() {
        return Err(Failure::new(
            code::USAGE,
            "name what changes, as in --content TEXT or --status resolved",
        ));
    }
    fact.content = args.content.unwrap_or_default();
    fact.status = args.status.map_or(0, |status| status.to_proto().into());
    fact.confidence = args.confidence.unwrap_or_default();
    if let Some(End::At(time)) = args.expires_at {
        fact.expires_at = Some(time_to_proto(time));
    }
    fact.intent = args.intent.unwrap_or_default();
    fact.entities = args.entities;
    fact.r#type = args.fact_type.map_or(0, |sort| sort.to_proto().into());
    lesson.situation = args.situation.unwrap_or_default();
    lesson.advice = args.advice.unwrap_or_default();
    lesson.applicability = args.applicability.unwrap_or_default();
    let (kind, memory) = if is_fact {
        (MemoryKind::Fact, memory::Kind::Fact(fact))
    } else {
        (MemoryKind::Lesson, memory::Kind::Lesson(lesson))
    };
    Ok(UpdateMemoryRequest {
        memory_id: args.id,
        kind: kind.into(),
        user: args.user.unwrap_or_default(),
        memory: Some(Memory { kind: Some(memory) }),
        update_mask: Some(prost_types::FieldMask { paths }),
        reason: args.reason,
        etag: args.etag.unwrap_or_default(),
        request_id: Uuid::new_v4().to_string(),
    })
}
