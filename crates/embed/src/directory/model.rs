use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use hindsight_ports::EmbedError;
use hindsight_text::truncate_chars;
use sha2::{Digest, Sha256};
use tokenizers::{Encoding, Tokenizer};

use super::{
    files::{SentenceConfig, misconfigured, optional_json, parse, required},
    tokens::{CHARS_PER_TOKEN, read_tokenizer, stack},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pooling {
    Mean,
    FirstToken,
}

pub(super) struct Model {
    bert: BertModel,
    tokenizer: Tokenizer,
    pooling: Pooling,
    dimension: usize,
    max_tokens: usize,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("pooling", &self.pooling)
            .field("dimension", &self.dimension)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// The model, and the first twelve hex digits of the SHA-256 of its weights.
    pub(super) fn open(directory: &Path) -> Result<(Self, String), EmbedError> {
        let config = read_config(directory)?;
        let sentence: SentenceConfig =
            optional_json(directory, "sentence_bert_config.json")?.unwrap_or_default();
        let max_tokens = sentence
            .max_seq_length
            .unwrap_or(config.max_position_embeddings)
            .clamp(2, config.max_position_embeddings.max(2));
        let tokenizer = read_tokenizer(directory, max_tokens, config.pad_token_id)?;
        let weights = required(directory, "model.safetensors")?;
        let digest = format!("{:x}", Sha256::digest(&weights));
        let bert = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .and_then(|weights| BertModel::load(weights, &config))
            .map_err(|e| misconfigured(&directory.join("model.safetensors"), e))?;
        let pooling = read_pooling(directory)?;
        let model = Self { bert, tokenizer, pooling, dimension: config.hidden_size, max_tokens };
        Ok((model, digest[..12].to_owned()))
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// One forward pass over all texts.
    pub(super) fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&str> =
            texts.iter().map(|text| truncate_chars(text, self.max_tokens * CHARS_PER_TOKEN)).collect();
        let encodings = self
            .tokenizer
            .encode_batch(texts, true)
            .map_err(|e| EmbedError::Rejected(format!("the tokenizer failed: {e}")))?;
        let vectors =
            self.forward(&encodings).map_err(|e| EmbedError::Rejected(format!("the model failed: {e}")))?;
        vectors
            .into_iter()
            .map(|vector| {
                crate::unit::unit(vector).ok_or_else(|| {
                    EmbedError::Rejected("the model gave a vector without direction".to_owned())
                })
            })
            .collect()
    }

    fn forward(&self, encodings: &[Encoding]) -> candle_core::Result<Vec<Vec<f32>>> {
        let ids = stack(encodings, Encoding::get_ids)?;
        let types = stack(encodings, Encoding::get_type_ids)?;
        let mask = stack(encodings, Encoding::get_attention_mask)?;
        let hidden = self.bert.forward(&ids, &types, Some(&mask))?;
        match self.pooling {
            Pooling::FirstToken => hidden.narrow(1, 0, 1)?.squeeze(1)?,
            Pooling::Mean => mean(&hidden, &mask)?,
        }
        .to_vec2()
    }
}

/// The average over the tokens that are not padding.
fn mean(hidden: &Tensor, mask: &Tensor) -> candle_core::Result<Tensor> {
    let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
    hidden.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)
}

fn read_config(directory: &Path) -> Result<Config, EmbedError> {
    const NAME: &str = "config.json";
    let bytes = required(directory, NAME)?;
    let config: serde_json::Value = parse(directory, NAME, &bytes)?;
    match config.get("model_type").and_then(|kind| kind.as_str()) {
        Some("bert") => parse(directory, NAME, &bytes),
        other => Err(misconfigured(
            &directory.join(NAME),
            format_args!(
                "model_type is {}, but only \"bert\" can be run; serve other models behind an OpenAI-compatible endpoint",
                other.map_or_else(|| "missing".to_owned(), |kind| format!("{kind:?}"))
            ),
        )),
    }
}

/// Mean, unless `1_Pooling/config.json` switches on exactly one mode, and another.
fn read_pooling(directory: &Path) -> Result<Pooling, EmbedError> {
    const NAME: &str = "1_Pooling/config.json";
    let Some(config) = optional_json::<serde_json::Map<_, _>>(directory, NAME)? else {
        return Ok(Pooling::Mean);
    };
    let modes: Vec<&str> = config
        .iter()
        .filter(|(name, on)| name.starts_with("pooling_mode_") && **on == serde_json::Value::Bool(true))
        .map(|(name, _)| name.as_str())
        .collect();
    match modes[..] {
        ["pooling_mode_mean_tokens"] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token"] => Ok(Pooling::FirstToken),
        _ => Err(misconfigured(
            &directory.join(NAME),
            format_args!(
                "pooling by {modes:?} cannot be run, only mean or first token (cls); \
                 serve the model behind an OpenAI-compatible endpoint"
            ),
        )),
    }
}
