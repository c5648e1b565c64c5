//! What one record may weigh. Everything that comes from outside is held to these.

/// Longest identifier (tenant, user, trace, session, agent, task type), in bytes.
pub const ID_BYTES: usize = 128;
/// Longest `task_description`, conclusion or retained fact, in bytes.
pub const TEXT_BYTES: usize = 64 * 1024;
/// Longest `action_detail`, in bytes.
pub const DETAIL_BYTES: usize = 256 * 1024;
/// Longest `observation`, in bytes. Longer ones are refused, never cut silently.
pub const OBSERVATION_BYTES: usize = 1024 * 1024;
/// Most steps in one trajectory.
pub const STEPS: usize = 5_000;
/// Most environment tags, attributes, entities or receipts on one record.
pub const TAGS: usize = 64;
/// Most attachments of one fact.
pub const ATTACHMENTS: usize = 16;
/// Longest URI of an attachment, in bytes.
pub const URI_BYTES: usize = 2 * 1024;
/// Longest caption of an attachment, in bytes.
pub const CAPTION_BYTES: usize = 4 * 1024;
/// Most facts in one `RetainBatch`.
pub const BATCH: usize = 500;
/// Largest gRPC message, in bytes.
pub const MESSAGE_BYTES: usize = 64 * 1024 * 1024;
