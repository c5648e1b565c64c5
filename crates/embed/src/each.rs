use hindsight_ports::EmbedError;

/// Batches of more text than this, in bytes, leave the async threads.
const INLINE_BYTES: usize = 16 * 1024;

/// The vectors of texts that take microseconds each.
pub(crate) async fn embed(
    texts: &[String],
    vector: fn(&str) -> Vec<f32>,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    if texts.iter().map(String::len).sum::<usize>() <= INLINE_BYTES {
        return Ok(texts.iter().map(|text| vector(text)).collect());
    }
    let texts = texts.to_vec();
    tokio::task::spawn_blocking(move || texts.iter().map(|text| vector(text)).collect())
        .await
        .map_err(|e| EmbedError::Unavailable(format!("embedding did not finish: {e}")))
}
