use hindsight_client::Client;
use hindsight_proto::memory::v1::{
    ArchivedMemory, ListArchivedRequest, ListArchivedResponse, RestoreArchivedRequest,
};
use hindsight_wiring::Failure;
use uuid::Uuid;

use crate::{context::Context, render, ui::Style};

const WIDTH: usize = 100;
/// Most memories of a page.
const PAGE: usize = 500;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List what left the search, and why; that which left last first.
    List {
        /// Also what belongs to this user.
        #[arg(long)]
        user: Option<String>,
        /// Most memories.
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Bring a memory back. It does not leave by itself again.
    Restore {
        /// Id of the memory.
        id: String,
        /// The user it belongs to, when it belongs to one.
        #[arg(long)]
        user: Option<String>,
    },
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<u8, Failure> {
    match command {
        Command::List { user, limit } => {
            let response = context.with_client(|client| list(client, user, limit)).await?;
            context.ui.message("hindsight.memory.v1.ListArchivedResponse", &response, |r| {
                r.archived.iter().map(line).collect::<Vec<_>>().join("\n")
            })?;
        }
        Command::Restore { id, user } => {
            let request = RestoreArchivedRequest {
                memory_id: id,
                user: user.unwrap_or_default(),
                request_id: Uuid::new_v4().to_string(),
            };
            let restore = |client: Client| async move { Ok(client.restore_archived(request).await?) };
            let response = context.with_client(restore).await?;
            context.ui.message("hindsight.memory.v1.RestoreArchivedResponse", &response, |r| {
                r.memory.iter().map(render::memory::line).collect()
            })?;
        }
    }
    Ok(0)
}

async fn list(client: Client, user: Option<String>, limit: usize) -> Result<ListArchivedResponse, Failure> {
    let mut all = ListArchivedResponse::default();
    let mut request = ListArchivedRequest { user: user.unwrap_or_default(), ..Default::default() };
    while all.archived.len() < limit {
        request.page_size = (limit - all.archived.len()).min(PAGE) as i32;
        let page = client.list_archived(request.clone()).await?;
        all.archived.extend(page.archived);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(all)
}

fn line(archived: &ArchivedMemory) -> String {
    let memory = archived.memory.as_ref().map(render::memory::line).unwrap_or_default();
    let why = render::short(&archived.why, WIDTH);
    format!("{memory}\n  {}", Style::Dim.paint(&format!("left: {why}")))
}
