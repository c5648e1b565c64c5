//! Texts as the tensors that a model takes.

use std::path::Path;

use candle_core::{Device, Tensor};
use hindsight_ports::EmbedError;
use tokenizers::{Encoding, PaddingParams, Tokenizer, TruncationParams};

use super::files::{misconfigured, required};

/// Characters read per token that the model takes: more than any tokenizer of this family needs, so that a
/// huge text is not tokenized to be thrown away.
pub(crate) const CHARS_PER_TOKEN: usize = 32;

/// The tokenizer of a directory, which cuts to `max_tokens` and fills up with `pad`.
pub(crate) fn read_tokenizer(
    directory: &Path,
    max_tokens: usize,
    pad: usize,
) -> Result<Tokenizer, EmbedError> {
    const NAME: &str = "tokenizer.json";
    let wrong = |e: tokenizers::Error| misconfigured(&directory.join(NAME), e);
    let mut tokenizer = Tokenizer::from_bytes(required(directory, NAME)?).map_err(wrong)?;
    // The file may carry limits of its own; those of the model decide.
    tokenizer
        .with_truncation(Some(TruncationParams { max_length: max_tokens, ..Default::default() }))
        .map_err(wrong)?;
    let pad_id = u32::try_from(pad).unwrap_or_default();
    tokenizer.with_padding(Some(PaddingParams { pad_id, ..Default::default() }));
    Ok(tokenizer)
}

/// One row of numbers for each text.
pub(crate) fn stack(
    encodings: &[Encoding],
    row: impl Fn(&Encoding) -> &[u32],
) -> candle_core::Result<Tensor> {
    let rows = encodings
        .iter()
        .map(|encoding| Tensor::new(row(encoding), &Device::Cpu))
        .collect::<candle_core::Result<Vec<_>>>()?;
    Tensor::stack(&rows, 0)
}
