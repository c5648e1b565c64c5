use hindsight_client::Client;
use hindsight_codec::time_from_proto;
use hindsight_proto::{
    common::v1::{Memory, Revision, RevisionCause, memory::Kind as Of},
    memory::v1::{GetMemoryHistoryRequest, GetMemoryHistoryResponse, MemoryVersion, RestoreMemoryRequest},
};
use hindsight_wiring::Failure;
use uuid::Uuid;

use crate::{context::Context, names::Kind, render, ui::Style};

/// Most versions of a page.
const PAGE: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the fact or lesson.
    id: String,
    /// Which of the two it is.
    #[arg(long, default_value = "fact")]
    kind: Kind,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// Most former versions, newest first.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// Id of the fact or lesson.
    id: String,
    /// The version, from `history`.
    version: String,
    /// Which of the two it is.
    #[arg(long, default_value = "fact")]
    kind: Kind,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
    /// Why; kept with the change.
    #[arg(long)]
    reason: String,
    /// Only if it is still this version; see `history`.
    #[arg(long, value_name = "VERSION")]
    etag: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let response = context.with_client(|client| history(client, args)).await?;
    context.ui.message("hindsight.memory.v1.GetMemoryHistoryResponse", &response, |r| {
        r.present.iter().chain(&r.former).map(line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(0)
}

async fn history(client: Client, args: Args) -> Result<GetMemoryHistoryResponse, Failure> {
    let mut all = GetMemoryHistoryResponse::default();
    let mut request = GetMemoryHistoryRequest {
        memory_id: args.id,
        kind: args.kind.to_proto().into(),
        user: args.user.unwrap_or_default(),
        ..Default::default()
    };
    while all.former.len() < args.limit {
        request.page_size = (args.limit - all.former.len()).min(PAGE) as i32;
        let page = client.get_memory_history(request.clone()).await?;
        all.present = page.present;
        all.former.extend(page.former);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(all)
}

pub(crate) async fn restore(args: Restore, context: &Context) -> Result<u8, Failure> {
    let request = RestoreMemoryRequest {
        memory_id: args.id,
        kind: args.kind.to_proto().into(),
        user: args.user.unwrap_or_default(),
        version: args.version,
        reason: args.reason,
        etag: args.etag.unwrap_or_default(),
        request_id: Uuid::new_v4().to_string(),
    };
    let response =
        context.with_client(|client| async move { Ok(client.restore_memory(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.RestoreMemoryResponse", &response, |r| {
        changed(r.memory.as_ref(), &r.etag)
    })?;
    Ok(0)
}

/// A memory as a change left it.
pub(super) fn changed(memory: Option<&Memory>, version: &str) -> String {
    let line = memory.map(render::memory::line).unwrap_or_default();
    format!("{line}\n{}", Style::Dim.paint(&format!("version {version}")))
}

/// `3f2a…  2026-05-08T13:56:00Z  updated by ops: she said so` and what it says.
fn line(version: &MemoryVersion) -> String {
    let memory = version.memory.as_ref();
    let said = memory.map(render::memory::line).unwrap_or_default();
    format!("{}  {}\n    {said}", Style::Bold.paint(&version.version), made(memory))
}

fn made(memory: Option<&Memory>) -> String {
    let (revision, learned) = match memory.and_then(|m| m.kind.as_ref()) {
        Some(Of::Fact(f)) => (f.revision.as_ref(), f.retained_at),
        Some(Of::Lesson(l)) => (l.revision.as_ref(), l.created_at),
        _ => (None, None),
    };
    let time = |at| time_from_proto("at", at).map(|at| at.to_string()).unwrap_or_default();
    let Some(Revision { at, by, reason, .. }) = revision else {
        return format!("{}  learned", time(learned));
    };
    let cause = match revision.map(Revision::cause).unwrap_or_default() {
        RevisionCause::Unspecified => "changed",
        RevisionCause::Updated => "updated",
        RevisionCause::Superseded => "superseded",
        RevisionCause::Expired => "expired",
        RevisionCause::Restored => "restored",
    };
    format!("{}  {cause} by {by}: {}", time(*at), render::short(reason, 100))
}
