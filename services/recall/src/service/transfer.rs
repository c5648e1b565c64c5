//! Everything of a tenant, out and in.

use std::pin::Pin;

use futures::{Stream, StreamExt as _};
use hindsight_api::Caller;
use hindsight_proto::memory::v1::{
    ExportMemoriesRequest, ExportMemoriesResponse, ImportMemoriesRequest, ImportMemoriesResponse,
};
use hindsight_types::Invalid;
use tonic::Status;

use super::{Memories, invalid, store};
use crate::transfer::{Import, export, header};

/// Longest cursor that is handed out, in bytes.
const CURSOR_BYTES: usize = 256;

pub(crate) type Exporting = Pin<Box<dyn Stream<Item = Result<ExportMemoriesResponse, Status>> + Send>>;

impl Memories {
    pub(super) fn export(&self, caller: Caller, request: ExportMemoriesRequest) -> Result<Exporting, Status> {
        let ExportMemoriesRequest { cursor } = request;
        if cursor.len() > CURSOR_BYTES {
            let problem = "is longer than any that is handed out; pass it as it was received, or none";
            return Err(invalid(Invalid::new("cursor", problem)));
        }
        let (key, goes_on) = (&caller.key, !cursor.is_empty());
        tracing::info!(%key, tenant = %caller.tenant, goes_on, "a tenant is exported");
        let header = header(&caller.tenant, self.embedder.id(), self.clock.now());
        let parts = export(self.transfer()?, caller.tenant, header, cursor);
        Ok(parts.map(|part| part.map_err(store)).boxed())
    }

    pub(super) async fn import(
        &self,
        caller: Caller,
        request: ImportMemoriesRequest,
    ) -> Result<ImportMemoriesResponse, Status> {
        let import = Import {
            store: self.store.clone(),
            transfer: self.transfer()?,
            forget: self.tombstones()?,
            forgetter: self.care.forgetter.clone(),
            embedder: self.embedder.clone(),
            clock: self.clock.clone(),
        };
        let answer = import.run(&caller.tenant, request).await?;
        let ImportMemoriesResponse { written, present, forgotten, refused } = &answer;
        let (key, refused) = (&caller.key, refused.len());
        tracing::info!(%key, tenant = %caller.tenant, written, present, forgotten, refused, "records were imported");
        Ok(answer)
    }
}
