pub(crate) mod files;
mod model;
pub(crate) mod passes;
pub(crate) mod tokens;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};

use model::Model;
use passes::{BATCH, Passes, blocking};

/// A sentence-transformers model of the BERT family, read from a directory with `config.json`,
/// `tokenizer.json` and `model.safetensors`. Pooling (mean or first token) and the longest input come from
/// `1_Pooling/config.json` and `sentence_bert_config.json` when they are there. Longer texts are cut.
#[derive(Debug, Clone)]
pub struct DirEmbedder {
    id: EmbedderId,
    model: Arc<Model>,
    passes: Passes,
}

impl DirEmbedder {
    /// Reads and checks the model. Its identity is the digest of its weights, so that a directory may move.
    pub async fn open(path: PathBuf) -> Result<Self, EmbedError> {
        let (model, digest) = blocking(move || Model::open(&path)).await?;
        let id = EmbedderId { model: format!("dir:{digest}"), dimension: model.dimension() };
        Ok(Self { id, model: Arc::new(model), passes: Passes::default() })
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
            let texts = batch.iter().map(|i| texts[*i].clone()).collect();
            let model = Arc::clone(&self.model);
            let made = self.passes.run(move || model.embed(texts)).await?;
            for (i, vector) in batch.iter().zip(made) {
                vectors[*i] = vector;
            }
        }
        Ok(vectors)
    }
}
