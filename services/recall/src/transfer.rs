//! What is kept of a tenant, out and in. What comes in passes the same checks as at the write door, and nothing that
//! was forgotten comes back.

mod door;
mod export;
mod import;
mod subjects;

use hindsight_codec::time_to_proto;
use hindsight_ports::EmbedderId;
use hindsight_proto::memory::v1::ExportHeader;
use hindsight_types::{TenantId, Timestamp};

pub(crate) use export::export;
pub(crate) use import::Import;

pub(crate) const FORMAT: &str = "hindsight-export";
pub(crate) const VERSION: u32 = 1;
/// Most that the records of one message weigh, unless it is one.
pub(crate) const PART_BYTES: usize = 32 * 1024 * 1024;

pub(crate) fn header(tenant: &TenantId, embedder: &EmbedderId, now: Timestamp) -> ExportHeader {
    ExportHeader {
        format: FORMAT.to_owned(),
        version: VERSION,
        tenant: tenant.to_string(),
        embedder: embedder.model.clone(),
        dimension: u32::try_from(embedder.dimension).unwrap_or(u32::MAX),
        exported_at: Some(time_to_proto(now)),
    }
}
