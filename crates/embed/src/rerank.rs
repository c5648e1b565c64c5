//! Rerankers: a cross-encoder on disk, or one behind an endpoint.

mod directory;
mod http;

use std::{path::PathBuf, sync::Arc};

use hindsight_ports::{EmbedError, Reranker};

pub use directory::DirReranker;
pub use http::{HttpReranker, HttpRerankerSettings};

/// Which reranker to build.
#[derive(Debug, Clone)]
pub enum RerankerSpec {
    /// A `/rerank` endpoint.
    Http(HttpRerankerSettings),
    /// A cross-encoder of the BERT or XLM-RoBERTa family on disk.
    Directory(PathBuf),
}

impl RerankerSpec {
    /// Reads the model. An endpoint is first reached when it is needed.
    pub async fn build(&self) -> Result<Arc<dyn Reranker>, EmbedError> {
        Ok(match self {
            Self::Http(settings) => Arc::new(HttpReranker::new(settings.clone())?),
            Self::Directory(path) => Arc::new(DirReranker::open(path.clone()).await?),
        })
    }
}

/// What a model says, which has no bounds, as a probability.
fn sigmoid(logit: f64) -> f32 {
    (1.0 / (1.0 + (-logit).exp())) as f32
}
