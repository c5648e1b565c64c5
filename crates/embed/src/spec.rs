use std::{path::PathBuf, sync::Arc};

use hindsight_ports::{EmbedError, Embedder};

use crate::{DirEmbedder, HashingEmbedder, HttpEmbedder, HttpSettings, StaticEmbedder};

/// Which embedder to build.
#[derive(Debug, Clone, Default)]
pub enum EmbedderSpec {
    /// The table inside the program; needs no download and no service.
    #[default]
    Static,
    /// Words and spelling alone; needs as little.
    Hashing,
    /// An OpenAI-compatible endpoint.
    Http(HttpSettings),
    /// A sentence-transformers model of the BERT family on disk.
    Directory(PathBuf),
}

impl EmbedderSpec {
    /// Reads the model, or reaches the endpoint when its dimension is not told.
    pub async fn build(&self) -> Result<Arc<dyn Embedder>, EmbedError> {
        Ok(match self {
            Self::Static => Arc::new(StaticEmbedder::new()?),
            Self::Hashing => Arc::new(HashingEmbedder::default()),
            Self::Http(settings) => Arc::new(HttpEmbedder::connect(settings.clone()).await?),
            Self::Directory(path) => Arc::new(DirEmbedder::open(path.clone()).await?),
        })
    }
}
