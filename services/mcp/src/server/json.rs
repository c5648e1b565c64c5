//! API messages as JSON, with the names of the schema.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use rmcp::ErrorData;

static SCHEMA: LazyLock<Result<DescriptorPool, String>> =
    LazyLock::new(|| DescriptorPool::decode(hindsight_proto::FILE_DESCRIPTOR_SET).map_err(|e| e.to_string()));

/// Fields that hold their defaults are left out. `name` is the full name of the message.
pub(crate) fn of_message<M: Message>(name: &str, message: &M) -> Result<String, ErrorData> {
    let unwritable = |problem: String| ErrorData::internal_error(format!("{name} as JSON: {problem}"), None);
    let schema = SCHEMA.as_ref().map_err(|e| unwritable(e.clone()))?;
    let descriptor =
        schema.get_message_by_name(name).ok_or_else(|| unwritable("is not in the schema".to_owned()))?;
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message).map_err(|e| unwritable(e.to_string()))?;
    let options = SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(false);
    let mut written = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut written);
    dynamic.serialize_with_options(&mut serializer, &options).map_err(|e| unwritable(e.to_string()))?;
    String::from_utf8(written).map_err(|e| unwritable(e.to_string()))
}
