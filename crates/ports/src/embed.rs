use std::fmt;

use async_trait::async_trait;

/// Which model made a vector. A collection remembers it; vectors of different embedders never mix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EmbedderId {
    /// `static-v1`, `hashing-v1`, `dir:all-MiniLM-L6-v2`, `http:text-embedding-3-small`.
    pub model: String,
    pub dimension: usize,
}

impl fmt::Display for EmbedderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} dimensions)", self.model, self.dimension)
    }
}

/// Some models encode questions and answers differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Query,
    Passage,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    /// Worth another try: the endpoint is away or overloaded.
    #[error("embedder unavailable: {0}")]
    Unavailable(String),
    /// The same text will fail again.
    #[error("embedder refused the text: {0}")]
    Rejected(String),
    /// The model cannot be used at all.
    #[error("embedder misconfigured: {0}")]
    Misconfigured(String),
}

/// Turns text into dense vectors of unit length, one per text, in order.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    fn id(&self) -> &EmbedderId;

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Reads a query and a text together and tells how relevant the text is: more exact than vectors, and far
/// slower, so it is asked about few texts.
#[async_trait]
pub trait Reranker: Send + Sync + 'static {
    /// Relevance of each text, 0 to 1, in order. Dropping the future ends the work soon.
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError>;
}
