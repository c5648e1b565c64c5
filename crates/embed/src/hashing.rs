mod vector;

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};

/// Batches of more text than this, in bytes, leave the async threads.
const INLINE_BYTES: usize = 16 * 1024;

/// The default: words, word pairs and fragments of words hashed into a vector. It needs no model, takes
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
        if texts.iter().map(String::len).sum::<usize>() <= INLINE_BYTES {
            return Ok(vectors(texts));
        }
        let texts = texts.to_vec();
        tokio::task::spawn_blocking(move || vectors(&texts))
            .await
            .map_err(|e| EmbedError::Unavailable(format!("hashing did not finish: {e}")))
    }
}

fn vectors(texts: &[String]) -> Vec<Vec<f32>> {
    texts.iter().map(|text| vector::vector(text)).collect()
}
