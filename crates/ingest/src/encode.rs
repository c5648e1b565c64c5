//! Text to vectors: meaning by the embedder, words by BM25.

use hindsight_ports::{EmbedError, Embedder, Encoded, Encoding, Purpose, SparseVector};
use hindsight_text::bm25;
use hindsight_types::Memory;

/// Texts in one call of the embedder.
const BATCH: usize = 128;

/// Encodes memories for search, in order, by their `indexed_text`.
pub async fn memories(
    embedder: &dyn Embedder,
    memories: Vec<Memory>,
) -> Result<Vec<Encoded<Memory>>, EmbedError> {
    let texts: Vec<String> = memories.iter().map(Memory::indexed_text).collect();
    let mut dense = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        let vectors = embedder.embed(batch, Purpose::Passage).await?;
        if vectors.len() != batch.len() {
            let answer = format!("{} texts gave {} vectors", batch.len(), vectors.len());
            return Err(EmbedError::Misconfigured(answer));
        }
        dense.extend(vectors);
    }
    let encoded = memories.into_iter().zip(texts).zip(dense).map(|((value, text), dense)| {
        let (indices, values) = bm25::encode_document(&text);
        Encoded { value, encoding: Encoding { dense, sparse: SparseVector { indices, values } } }
    });
    Ok(encoded.collect())
}
