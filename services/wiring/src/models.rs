//! Models of the configuration, whose failures name the setting.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_config as config;
use hindsight_embed::RerankerSpec;
use hindsight_ports::{EmbedError, Embedder, Reranker};
use tokio::sync::OnceCell;

use crate::adapters;

pub(crate) async fn embedder(config: &config::Embedder) -> Result<Arc<dyn Embedder>, EmbedError> {
    let field = match config {
        config::Embedder::Directory { .. } => "embedder.path",
        config::Embedder::Static | config::Embedder::Hashing | config::Embedder::Http(_) => "embedder",
    };
    adapters::embedder(config).build().await.map_err(|error| named(field, error))
}

/// The configured reranker, read when it is first needed: most roles and commands do not.
pub(crate) struct LateReranker {
    spec: RerankerSpec,
    field: &'static str,
    built: OnceCell<Arc<dyn Reranker>>,
}

impl fmt::Debug for LateReranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateReranker").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl LateReranker {
    pub(crate) fn new(config: &config::Reranker) -> Self {
        let field = match config {
            config::Reranker::Directory { .. } => "recall.reranker.path",
            config::Reranker::Http(_) => "recall.reranker",
        };
        Self { spec: adapters::reranker(config), field, built: OnceCell::new() }
    }

    pub(crate) async fn load(&self) -> Result<&Arc<dyn Reranker>, EmbedError> {
        let build = async || self.spec.build().await.map_err(|error| named(self.field, error));
        self.built.get_or_try_init(build).await
    }
}

#[async_trait]
impl Reranker for LateReranker {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        self.load().await?.rerank(query, texts).await
    }
}

fn named(field: &str, error: EmbedError) -> EmbedError {
    match error {
        EmbedError::Unavailable(why) => EmbedError::Unavailable(format!("{field}: {why}")),
        EmbedError::Rejected(why) => EmbedError::Rejected(format!("{field}: {why}")),
        EmbedError::Misconfigured(why) => EmbedError::Misconfigured(format!("{field}: {why}")),
    }
}

#[cfg(test)]
mod tests;
