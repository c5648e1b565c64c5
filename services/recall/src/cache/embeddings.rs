use std::{hash::RandomState, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use hindsight_telemetry::{Label, Metric};
use quick_cache::{Lifecycle, Weighter, sync::Cache};

const CACHE: (Label, &str) = (Label::Cache, "embeddings");
/// Bytes of an entry beside the text and the vector.
const OVERHEAD: usize = 128;
/// Bytes of a usual entry, to guess how many will fit.
const USUAL: u64 = 2 << 10;

/// The embedder is part of the key: vectors of another one are never given.
type Key = (EmbedderId, String);

/// An embedder that remembers questions, as many as there is room for. The same question asked at once is
/// embedded once. What is to be stored passes through: it comes once.
pub(crate) struct RememberingEmbedder {
    inner: Arc<dyn Embedder>,
    vectors: Cache<Key, Vec<f32>, Bytes, RandomState, Evicted>,
}

impl RememberingEmbedder {
    /// With no room for anything, the embedder itself.
    pub(crate) fn over(inner: Arc<dyn Embedder>, bytes: u64) -> Arc<dyn Embedder> {
        if bytes == 0 { inner } else { Arc::new(Self::new(inner, bytes)) }
    }

    fn new(inner: Arc<dyn Embedder>, bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).max(1);
        Self { inner, vectors: Cache::with(items, bytes, Bytes, RandomState::new(), Evicted) }
    }
}

#[async_trait]
impl Embedder for RememberingEmbedder {
    fn id(&self) -> &EmbedderId {
        self.inner.id()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let ([text], Purpose::Query) = (texts, purpose) else {
            return self.inner.embed(texts, purpose).await;
        };
        let guard = match self.vectors.get_value_or_guard_async(&(self.id().clone(), text.clone())).await {
            Ok(vector) => {
                Metric::RecallCacheLookups.add(1, &[CACHE, (Label::Result, "hit")]);
                return Ok(vec![vector]);
            }
            Err(guard) => guard,
        };
        Metric::RecallCacheLookups.add(1, &[CACHE, (Label::Result, "miss")]);
        let vectors = self.inner.embed(texts, purpose).await?;
        if let [vector] = vectors.as_slice() {
            // Fails when the entry was replaced meanwhile, which nobody does.
            let _ = guard.insert(vector.clone());
            Metric::RecallCacheBytes.set(self.vectors.weight() as f64, &[CACHE]);
        }
        Ok(vectors)
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Vec<f32>> for Bytes {
    fn weight(&self, (embedder, text): &Key, vector: &Vec<f32>) -> u64 {
        (OVERHEAD + embedder.model.len() + text.len() + size_of_val(vector.as_slice())) as u64
    }
}

#[derive(Clone)]
struct Evicted;

impl Lifecycle<Key, Vec<f32>> for Evicted {
    type RequestState = ();

    fn begin_request(&self) -> Self::RequestState {}

    fn on_evict(&self, (): &mut (), _: Key, _: Vec<f32>) {
        Metric::RecallCacheEvictions.add(1, &[CACHE]);
    }
}

#[cfg(test)]
mod tests;
