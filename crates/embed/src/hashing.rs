mod vector;

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};

use crate::each;

/// Words, word pairs and fragments of words hashed into a vector. It needs no model, takes
/// tens of microseconds for a short text and finds what shares words or spelling, not meaning.
#[derive(Debug, Clone)]
pub struct HashingEmbedder {
    id: EmbedderId,
}

impl Default for HashingEmbedder {
    fn default() -> Self {
        Self { id: EmbedderId { model: "hashing-v1".to_owned(), dimension: vector::DIMENSION } }
    }
}

#[async_trait]
impl Embedder for HashingEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        each::embed(texts, vector::vector).await
    }
}
