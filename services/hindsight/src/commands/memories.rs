mod conflicts;
mod delete;
mod history;
mod show;
mod update;

use hindsight_client::Client;
use hindsight_codec::time_to_proto;
use hindsight_proto::memory::v1::{ListMemoriesRequest, ListMemoriesResponse, MemoryFilter};
use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};

use crate::{
    context::Context,
    names::{Ending, FactKind, Kind, LessonStage, Status},
    render,
};

/// Most memories of a page.
const PAGE: usize = 500;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Delete a memory with what was derived from it, and show the proof.
    Delete(delete::Args),
    /// Correct a fact or a lesson, or set a fact's status. How it was before is kept.
    Update(update::Args),
    /// Show how a fact or a lesson was before, and who changed it when and why.
    History(history::Args),
    /// Have a former version of a fact or a lesson stand again.
    RestoreVersion(history::Restore),
    /// List facts of a user that contradict each other, and which of them holds.
    Conflicts(conflicts::Args),
    /// Show where a memory comes from, which recalls gave it and what came of it.
    Show(show::Args),
}

/// Which memories, newest first.
#[derive(Debug, clap::Args)]
struct List {
    /// Which kind.
    #[arg(long)]
    kind: Option<Kind>,
    /// Also what belongs to this user.
    #[arg(long)]
    user: Option<String>,
    /// Most memories, newest first.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Only lessons of this stage.
    #[arg(long)]
    stage: Option<LessonStage>,
    /// Only experiences or steps of runs that ended so.
    #[arg(long)]
    outcome: Option<Ending>,
    /// Only experiences or lessons of this kind of task.
    #[arg(long, value_name = "TYPE")]
    task_type: Option<String>,
    /// Only what is of this environment, as in docker.
    #[arg(long, value_name = "TAG")]
    env: Option<String>,
    /// Only facts, experiences or lessons that name this person or thing.
    #[arg(long, value_name = "NAME")]
    entity: Option<String>,
    /// Only facts that stand so.
    #[arg(long)]
    status: Option<Status>,
    /// Only facts of this sort.
    #[arg(long = "type", value_name = "TYPE")]
    fact_type: Option<FactKind>,
    /// Only facts of this conversation.
    #[arg(long)]
    session: Option<String>,
    /// Only failure patterns or steps of this tool.
    #[arg(long, value_name = "TOOL")]
    action: Option<String>,
    /// Only experiences that are worth showing to others, or with `=false` the others.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    worth_reference: Option<bool>,
    /// Only what this run became or what was learned from it.
    #[arg(long)]
    trace: Option<String>,
    /// Only what is no older than this, as in 2026-05-08T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Only what is older than this.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    match args.command {
        Some(Command::Delete(args)) => return delete::run(args, context).await,
        Some(Command::Update(args)) => return update::run(args, context).await,
        Some(Command::History(args)) => return history::run(args, context).await,
        Some(Command::RestoreVersion(args)) => return history::restore(args, context).await,
        Some(Command::Conflicts(args)) => return conflicts::run(args, context).await,
        Some(Command::Show(args)) => return show::run(args, context).await,
        None => {}
    }
    let Some(kind) = args.list.kind else {
        return Err(Failure::new(
            code::USAGE,
            "name the kind of memories with --kind, or one memory with `show ID`",
        ));
    };
    let response = context.with_client(|client| list(client, kind, args.list)).await?;
    context.ui.message("hindsight.memory.v1.ListMemoriesResponse", &response, |r| {
        r.memories.iter().map(render::memory::line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(0)
}

impl List {
    fn filter(&self) -> MemoryFilter {
        let text = |option: &Option<String>| option.clone().unwrap_or_default();
        MemoryFilter {
            stage: self.stage.map_or(0, |stage| stage.to_proto().into()),
            outcome: self.outcome.map_or(0, |outcome| outcome.to_proto().into()),
            task_type: text(&self.task_type),
            environment: text(&self.env),
            entity: text(&self.entity),
            status: self.status.map_or(0, |status| status.to_proto().into()),
            r#type: self.fact_type.map_or(0, |sort| sort.to_proto().into()),
            session: text(&self.session),
            action_name: text(&self.action),
            worth_reference: self.worth_reference,
            trace_id: text(&self.trace),
            from: self.from.map(time_to_proto),
            until: self.until.map(time_to_proto),
        }
    }
}

async fn list(client: Client, kind: Kind, args: List) -> Result<ListMemoriesResponse, Failure> {
    let mut all = ListMemoriesResponse::default();
    let mut request = ListMemoriesRequest {
        kind: kind.to_proto().into(),
        filter: Some(args.filter()),
        user: args.user.unwrap_or_default(),
        ..ListMemoriesRequest::default()
    };
    while all.memories.len() < args.limit {
        request.page_size = (args.limit - all.memories.len()).min(PAGE) as i32;
        let page = client.list_memories(request.clone()).await?;
        all.memories.extend(page.memories);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(all)
}
