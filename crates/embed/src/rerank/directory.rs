mod model;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Reranker};

use crate::directory::passes::{BATCH, Passes, blocking};
use model::Model;

/// A cross-encoder with one output, BERT or XLM-RoBERTa with its head for classification, read from a
/// directory with `config.json`, `tokenizer.json` and `model.safetensors`: `ms-marco-MiniLM-L6-v2`,
/// `bge-reranker-base`. Query and text together are cut to what the model takes, the longer one first.
#[derive(Debug, Clone)]
pub struct DirReranker {
    model: Arc<Model>,
    passes: Passes,
}

impl DirReranker {
    /// Reads and checks the model.
    pub async fn open(path: PathBuf) -> Result<Self, EmbedError> {
        let model = Arc::new(blocking(move || Model::open(&path)).await?);
        Ok(Self { model, passes: Passes::default() })
    }
}

#[async_trait]
impl Reranker for DirReranker {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        // Texts of like length together: a pass costs its longest text, for every text.
        order.sort_by_key(|i| texts[*i].len());
        let mut relevance = vec![0.0; texts.len()];
        for batch in order.chunks(BATCH) {
            let pairs = batch.iter().map(|i| (query.to_owned(), texts[*i].clone())).collect();
            let model = Arc::clone(&self.model);
            let scores = self.passes.run(move || model.relevance(pairs)).await?;
            for (i, score) in batch.iter().zip(scores) {
                relevance[*i] = score;
            }
        }
        Ok(relevance)
    }
}
