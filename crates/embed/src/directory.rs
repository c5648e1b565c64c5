mod files;
mod model;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use tokio::sync::Semaphore;

use model::Model;

/// Texts per forward pass. Small, so that a query does not wait long behind a batch of passages.
const BATCH: usize = 8;

/// Forward passes at a time; each one already uses several cores.
const PASSES: usize = 2;

/// A sentence-transformers model of the BERT family, read from a directory with `config.json`,
/// `tokenizer.json` and `model.safetensors`. Pooling (mean or first token) and the longest input come from
/// `1_Pooling/config.json` and `sentence_bert_config.json` when they are there. Longer texts are cut.
#[derive(Debug, Clone)]
pub struct DirEmbedder {
    id: EmbedderId,
    model: Arc<Model>,
    passes: Arc<Semaphore>,
}

impl DirEmbedder {
    /// Reads and checks the model. Its identity is the digest of its weights, so that a directory may move.
    pub async fn open(path: PathBuf) -> Result<Self, EmbedError> {
        let (model, digest) = blocking(move || Model::open(&path)).await?;
        let id = EmbedderId { model: format!("dir:{digest}"), dimension: model.dimension() };
        Ok(Self { id, model: Arc::new(model), passes: Arc::new(Semaphore::new(PASSES)) })
    }

    async fn pass(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let permit = Arc::clone(&self.passes)
            .acquire_owned()
            .await
            .map_err(|e| EmbedError::Unavailable(e.to_string()))?;
        let model = Arc::clone(&self.model);
        blocking(move || {
            // Held by the work, not by the caller, who may give up waiting.
            let _permit = permit;
            model.embed(texts)
        })
        .await
    }
}

#[async_trait]
impl Embedder for DirEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        // Texts of like length together: a pass costs its longest text, for every text.
        order.sort_by_key(|i| texts[*i].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in order.chunks(BATCH) {
            let made = self.pass(batch.iter().map(|i| texts[*i].clone()).collect()).await?;
            for (i, vector) in batch.iter().zip(made) {
                vectors[*i] = vector;
            }
        }
        Ok(vectors)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, EmbedError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| EmbedError::Unavailable(format!("the model did not finish: {e}")))?
}
