use hindsight_codec::time_to_proto;
use hindsight_ports::{EmbedderId, Rebuild, StoredVectors};
use hindsight_proto::operations::v1::{Embedder, GetEmbedderResponse, Reembedding};

pub(super) fn response(vectors: &StoredVectors, trouble: Option<String>) -> GetEmbedderResponse {
    GetEmbedderResponse {
        serving: Some(embedder(&vectors.serving)),
        configured: Some(embedder(&vectors.configured)),
        reembedding: vectors.building.as_ref().map(reembedding),
        trouble: trouble.unwrap_or_default(),
    }
}

fn embedder(id: &EmbedderId) -> Embedder {
    Embedder { model: id.model.clone(), dimension: u32::try_from(id.dimension).unwrap_or(u32::MAX) }
}

fn reembedding(build: &Rebuild) -> Reembedding {
    let left = build.seconds_left().and_then(|seconds| i64::try_from(seconds).ok());
    Reembedding {
        embedder: Some(embedder(&build.embedder)),
        started_at: Some(time_to_proto(build.started_at)),
        updated_at: Some(time_to_proto(build.updated_at)),
        total: build.total,
        done: build.done,
        skipped: build.skipped,
        percent: u32::try_from(build.percent()).unwrap_or(100),
        left: left.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
    }
}
