//! API messages as JSON: proto3 JSON with the field names of the schema and numbers as numbers.

use hindsight_wiring::{Failure, code};
use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

static SCHEMA: LazyLock<Result<DescriptorPool, String>> =
    LazyLock::new(|| DescriptorPool::decode(hindsight_proto::FILE_DESCRIPTOR_SET).map_err(|e| e.to_string()));

/// `name` is the full name of the message, as in `hindsight.recall.v1.RecallResponse`.
pub(crate) fn of_message<M: Message>(name: &str, message: &M) -> Result<Value, Failure> {
    let dynamic = dynamic(name, message)?;
    let options = options().skip_default_fields(false);
    dynamic.serialize_with_options(serde_json::value::Serializer, &options).map_err(|e| unwritable(name, e))
}

/// The same on one line, without the fields that hold their defaults.
pub(crate) fn line<M: Message>(name: &str, message: &M) -> Result<String, Failure> {
    let dynamic = dynamic(name, message)?;
    let mut line = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut line);
    let options = options().skip_default_fields(true);
    dynamic.serialize_with_options(&mut serializer, &options).map_err(|e| unwritable(name, e))?;
    String::from_utf8(line).map_err(|e| unwritable(name, e))
}

fn options() -> SerializeOptions {
    SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(false)
}

fn unwritable(name: &str, problem: impl std::fmt::Display) -> Failure {
    Failure::new(code::INTERNAL, format!("{name} as JSON: {problem}"))
}

fn dynamic<M: Message>(name: &str, message: &M) -> Result<DynamicMessage, Failure> {
    let schema = SCHEMA.as_ref().map_err(|e| unwritable(name, e))?;
    let descriptor =
        schema.get_message_by_name(name).ok_or_else(|| unwritable(name, "is not in the schema"))?;
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message).map_err(|e| unwritable(name, e))?;
    Ok(dynamic)
}

/// The message that `text` describes, in proto3 JSON. The error says what is wrong with it.
pub(crate) fn to_message<M: Message + Default>(name: &str, text: &str) -> Result<M, String> {
    let schema = SCHEMA.as_ref().map_err(Clone::clone)?;
    let descriptor =
        schema.get_message_by_name(name).ok_or_else(|| format!("{name} is not in the schema"))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let dynamic = DynamicMessage::deserialize(descriptor, &mut deserializer).map_err(|e| e.to_string())?;
    deserializer.end().map_err(|e| e.to_string())?;
    dynamic.transcode_to().map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use hindsight_proto::{common::v1::MemoryKind, memory::v1 as pb};

    use super::*;

    #[test]
    fn names_are_those_of_the_schema_and_defaults_are_there() {
        let stats = pb::GetStatsResponse { events: 12, ..Default::default() };
        let value = of_message("hindsight.memory.v1.GetStatsResponse", &stats).unwrap();
        assert_eq!((value["events"].as_u64(), value["failure_patterns"].as_u64()), (Some(12), Some(0)));
        let request = pb::ListMemoriesRequest { kind: MemoryKind::Fact.into(), ..Default::default() };
        let value = of_message("hindsight.memory.v1.ListMemoriesRequest", &request).unwrap();
        assert_eq!(value["kind"], "MEMORY_KIND_FACT");
    }

    #[test]
    fn a_message_is_read_from_its_json() {
        use hindsight_proto::{collector::v1::RetainRequest, common::v1::FactType};
        const NAME: &str = "hindsight.collector.v1.RetainRequest";
        let text = r#"{"user":"li","content":"茶","type":"FACT_TYPE_PREFERENCE","occurred_at":"2023-05-08T13:56:00Z"}"#;
        let read: RetainRequest = to_message(NAME, text).unwrap();
        assert_eq!((read.content.as_str(), read.r#type()), ("茶", FactType::Preference));
        assert_eq!(read.occurred_at.unwrap().seconds, 1_683_554_160);
        for wrong in ["{", r#"{"usr":"li"}"#, r#"{"user":5}"#, r#"{} {}"#, "[]"] {
            assert!(to_message::<RetainRequest>(NAME, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_message_is_an_error() {
        let error = of_message("hindsight.memory.v1.Nothing", &pb::GetStatsRequest::default()).unwrap_err();
        assert_eq!(error.code, code::INTERNAL);
    }
}
