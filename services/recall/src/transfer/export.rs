use std::{pin::Pin, sync::Arc};

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use hindsight_codec::{Record, record_to_proto};
use hindsight_ports::{Exported, PageRequest, StoreError, Transfer};
use hindsight_proto::{
    memory::v1::{ExportEnd, ExportHeader, ExportMemoriesResponse},
    storage::v1::Record as PbRecord,
};
use hindsight_types::{RecordBody, TenantId};
use prost::Message as _;

use super::PART_BYTES;

/// Records that are read at once.
const PAGE: usize = 64;

pub(crate) type Parts = Pin<Box<dyn Stream<Item = Result<ExportMemoriesResponse, StoreError>> + Send>>;

/// How far an export is.
struct At {
    cursor: String,
    records: u64,
    over: bool,
}

/// A header, everything from `cursor` on, an end. Each part is read when the one before it is taken.
pub(crate) fn export(
    transfer: Arc<dyn Transfer>,
    tenant: TenantId,
    header: ExportHeader,
    cursor: String,
) -> Parts {
    let first = ExportMemoriesResponse { header: Some(header), ..ExportMemoriesResponse::default() };
    let at = At { cursor, records: 0, over: false };
    let rest = stream::try_unfold(at, move |at| {
        let (transfer, tenant) = (transfer.clone(), tenant.clone());
        async move {
            if at.over {
                return Ok(None);
            }
            let page = PageRequest { size: PAGE, token: at.cursor.clone() };
            let page = transfer.records(&tenant, &page).await?;
            Ok::<_, StoreError>(Some(at.with(page)))
        }
    });
    let rest = rest.map_ok(|parts| stream::iter(parts.into_iter().map(Ok::<_, StoreError>))).try_flatten();
    stream::once(async move { Ok(first) }).chain(rest).boxed()
}

impl At {
    fn with(mut self, page: Exported) -> (Vec<ExportMemoriesResponse>, Self) {
        self.records += page.records.len() as u64;
        self.over = page.next.is_empty();
        let mut parts = parts(page.records);
        if parts.is_empty() {
            parts.push(ExportMemoriesResponse::default());
        }
        if let Some(last) = parts.last_mut() {
            last.cursor.clone_from(&page.next);
            last.unreadable = page.unreadable;
        }
        self.cursor = page.next;
        if self.over {
            let end = ExportEnd { records: self.records, ..ExportEnd::default() };
            parts.push(ExportMemoriesResponse { end: Some(end), ..ExportMemoriesResponse::default() });
        }
        (parts, self)
    }
}

/// Messages of bounded weight.
fn parts(records: Vec<RecordBody>) -> Vec<ExportMemoriesResponse> {
    let (mut parts, mut part, mut bytes) = (Vec::new(), ExportMemoriesResponse::default(), 0);
    for record in records {
        // Whose it is, is said once: an export is imported for whoever imports it.
        let record = PbRecord { tenant: String::new(), ..record_to_proto(&Record(record)) };
        let weight = record.encoded_len();
        if !part.records.is_empty() && bytes + weight > PART_BYTES {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += weight;
        part.records.push(record);
    }
    if !part.records.is_empty() {
        parts.push(part);
    }
    parts
}
