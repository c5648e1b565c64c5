//! Words for metrics: names that callers make up must not become time series.

use std::{collections::HashSet, sync::LazyLock};

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// `hindsight.recall.v1.RecallService/Recall`, and all others.
static METHODS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    // The descriptors are compiled in, and tested to be readable.
    let files = FileDescriptorSet::decode(hindsight_proto::FILE_DESCRIPTOR_SET).unwrap_or_default().file;
    let mut methods = HashSet::new();
    for file in files {
        for service in &file.service {
            let of = |m: &prost_types::MethodDescriptorProto| {
                format!("{}.{}/{}", file.package(), service.name(), m.name())
            };
            methods.extend(service.method.iter().map(of));
        }
    }
    methods
});

/// What is not ours but served: traces of agents.
const OTLP: [&str; 2] = ["opentelemetry.proto.collector.trace.v1.TraceService/Export", "v1/traces"];

/// The method as it is counted.
pub(crate) fn known(method: &str) -> &'static str {
    if let Some(otlp) = OTLP.into_iter().find(|m| *m == method) {
        return otlp;
    }
    METHODS.get(method).map_or("unknown", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_the_protos_are_known_and_others_are_one() {
        let recall = "hindsight.recall.v1.RecallService/Recall";
        assert_eq!(known(recall), recall);
        assert_eq!(known("v1/traces"), "v1/traces");
        assert_eq!(known("hindsight.recall.v1.RecallService/Made-up"), "unknown");
        assert_eq!(known(""), "unknown");
    }
}
