use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear};
use candle_transformers::models::{
    bert::{self, BertModel},
    xlm_roberta::{self, XLMRobertaForSequenceClassification},
};
use hindsight_ports::EmbedError;
use hindsight_text::truncate_chars;
use tokenizers::{Encoding, Tokenizer};

use crate::{
    directory::{
        files::{misconfigured, parse, required},
        tokens::{CHARS_PER_TOKEN, read_tokenizer, stack},
    },
    rerank::sigmoid,
};

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";

/// One output: the logit of being relevant.
const LABELS: usize = 1;

pub(super) struct Model {
    scorer: Scorer,
    tokenizer: Tokenizer,
    max_tokens: usize,
}

enum Scorer {
    Bert { bert: BertModel, pooler: Linear, classifier: Linear },
    Roberta(XLMRobertaForSequenceClassification),
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("max_tokens", &self.max_tokens).finish_non_exhaustive()
    }
}

impl Model {
    pub(super) fn open(directory: &Path) -> Result<Self, EmbedError> {
        let bytes = required(directory, CONFIG)?;
        let config: serde_json::Value = parse(directory, CONFIG, &bytes)?;
        let weights =
            VarBuilder::from_buffered_safetensors(required(directory, WEIGHTS)?, DType::F32, &Device::Cpu)
                .map_err(|e| misconfigured(&directory.join(WEIGHTS), e))?;
        let wrong = |e: candle_core::Error| {
            let problem = format_args!("{e}; a reranker is a cross-encoder with one output").to_string();
            misconfigured(&directory.join(WEIGHTS), problem)
        };
        let (scorer, max_tokens, pad) = match config.get("model_type").and_then(|kind| kind.as_str()) {
            Some("bert") => {
                let config: bert::Config = parse(directory, CONFIG, &bytes)?;
                let scorer = Scorer::bert(&weights, &config).map_err(wrong)?;
                (scorer, config.max_position_embeddings, config.pad_token_id)
            }
            Some("xlm-roberta") => {
                let config: xlm_roberta::Config = parse(directory, CONFIG, &bytes)?;
                let model = XLMRobertaForSequenceClassification::new(LABELS, &config, weights);
                let pad = config.pad_token_id as usize;
                // Positions are counted from the one after the padding's.
                let max_tokens = config.max_position_embeddings.saturating_sub(pad + 1);
                (Scorer::Roberta(model.map_err(wrong)?), max_tokens, pad)
            }
            other => {
                let problem = format!(
                    "model_type is {other:?}, but only \"bert\" and \"xlm-roberta\" can be run; serve other \
                     rerankers behind a /rerank endpoint"
                );
                return Err(misconfigured(&directory.join(CONFIG), problem));
            }
        };
        // Of a pair's tokens up to four are the model's own.
        let max_tokens = max_tokens.max(8);
        let tokenizer = read_tokenizer(directory, max_tokens, pad)?;
        Ok(Self { scorer, tokenizer, max_tokens })
    }

    /// One forward pass over pairs of query and text: the relevance of each, 0 to 1.
    pub(super) fn relevance(&self, pairs: Vec<(String, String)>) -> Result<Vec<f32>, EmbedError> {
        let chars = self.max_tokens * CHARS_PER_TOKEN;
        let cut = |(query, text): &(String, String)| {
            (truncate_chars(query, chars).to_owned(), truncate_chars(text, chars).to_owned())
        };
        let pairs: Vec<(String, String)> = pairs.iter().map(cut).collect();
        let encodings = self
            .tokenizer
            .encode_batch(pairs, true)
            .map_err(|e| EmbedError::Rejected(format!("the tokenizer failed: {e}")))?;
        let logits =
            self.logits(&encodings).map_err(|e| EmbedError::Rejected(format!("the reranker failed: {e}")))?;
        match logits.iter().find(|logit| !logit.is_finite()) {
            None => Ok(logits.into_iter().map(|logit| sigmoid(f64::from(logit))).collect()),
            Some(logit) => Err(EmbedError::Rejected(format!("the reranker gave {logit}"))),
        }
    }

    fn logits(&self, encodings: &[Encoding]) -> candle_core::Result<Vec<f32>> {
        let ids = stack(encodings, Encoding::get_ids)?;
        let mask = stack(encodings, Encoding::get_attention_mask)?;
        let logits = match &self.scorer {
            Scorer::Bert { bert, pooler, classifier } => {
                let types = stack(encodings, Encoding::get_type_ids)?;
                let hidden = bert.forward(&ids, &types, Some(&mask))?;
                let first = hidden.narrow(1, 0, 1)?.squeeze(1)?;
                classifier.forward(&pooler.forward(&first)?.tanh()?)?
            }
            // This family does not tell the two texts apart by type.
            Scorer::Roberta(model) => model.forward(&ids, &mask, &Tensor::zeros_like(&ids)?)?,
        };
        logits.squeeze(1)?.to_vec1()
    }
}

impl Scorer {
    fn bert(weights: &VarBuilder<'_>, config: &bert::Config) -> candle_core::Result<Self> {
        let size = config.hidden_size;
        Ok(Self::Bert {
            bert: BertModel::load(weights.pp("bert"), config)?,
            pooler: linear(size, size, weights.pp("bert.pooler.dense"))?,
            classifier: linear(size, LABELS, weights.pp("classifier"))?,
        })
    }
}
