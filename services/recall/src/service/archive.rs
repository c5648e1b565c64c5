//! What left for the archive, and how it comes back.

use hindsight_api::{Caller, page, status};
use hindsight_codec::{memory_to_proto, time_to_proto};
use hindsight_proto::memory::v1 as pb;
use hindsight_types::{Archived, MemoryId};
use tonic::Status;

use super::{invalid, memory::Memories, request_id, store};
use crate::{NAME, ask::viewer};

impl Memories {
    pub(super) async fn archived(
        &self,
        caller: Caller,
        request: pb::ListArchivedRequest,
    ) -> Result<pb::ListArchivedResponse, Status> {
        let pb::ListArchivedRequest { user, page_size, page_token } = request;
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let page = page(page_size, page_token).map_err(invalid)?;
        let found = self.archive()?.list_archived(&viewer, &page).await.map_err(store)?;
        Ok(pb::ListArchivedResponse {
            archived: found.items.iter().map(archived).collect(),
            next_page_token: found.next_token,
        })
    }

    pub(super) async fn bring_back(
        &self,
        caller: Caller,
        request: pb::RestoreArchivedRequest,
    ) -> Result<pb::RestoreArchivedResponse, Status> {
        let pb::RestoreArchivedRequest { memory_id, user, request_id: id } = request;
        request_id(&id).map_err(invalid)?;
        let (by, viewer) = (caller.key.to_string(), viewer(caller.tenant, user).map_err(invalid)?);
        let id = MemoryId::parse(&memory_id).map_err(invalid)?;
        let memory = self.archive()?.restore(&viewer, id, self.clock.now()).await.map_err(store)?;
        let memory = memory.ok_or_else(|| status::not_found(NAME, "archived memory", id))?;
        tracing::info!(memory = memory_id, by, "a memory was brought back from the archive");
        Ok(pb::RestoreArchivedResponse { memory: Some(memory_to_proto(&memory)) })
    }
}

fn archived(archived: &Archived) -> pb::ArchivedMemory {
    pb::ArchivedMemory {
        memory: Some(memory_to_proto(&archived.memory)),
        archived_at: Some(time_to_proto(archived.at)),
        why: archived.why.clone(),
        instead: archived.instead.map(|id| id.to_string()).unwrap_or_default(),
    }
}
