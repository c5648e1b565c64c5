//! What the tests of this crate share.

use std::{fs, path::Path};

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use candle_transformers::models::bert::{BertModel, Config};
use serde_json::{Value, json};

/// Says loudly that a test did not run for want of something on this machine.
pub(crate) fn skip(what: &str, variable: &str) {
    eprintln!("SKIPPED: {what}: {variable} is not set (tests/setup-models.sh tells its value)");
}

pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn tiny_config() -> Value {
    json!({
        "model_type": "bert", "vocab_size": 12, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 8, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
        "max_position_embeddings": 32, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0
    })
}

/// Writes a working model of a few kilobytes with arbitrary weights.
pub(crate) fn write_tiny_model(directory: &Path) {
    let config: Config = serde_json::from_value(tiny_config()).unwrap();
    let weights = VarMap::new();
    BertModel::load(VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu), &config).unwrap();
    let named = weights.data().lock().unwrap().clone();
    for (name, var) in named.iter().filter(|(name, _)| !name.contains("LayerNorm")) {
        let seed = name.len() * 31;
        let values: Vec<f32> = (0..var.elem_count()).map(|i| ((seed + i * 7) as f32).sin()).collect();
        var.set(&Tensor::from_vec(values, var.shape().clone(), &Device::Cpu).unwrap()).unwrap();
    }
    weights.save(directory.join("model.safetensors")).unwrap();
    fs::write(directory.join("config.json"), tiny_config().to_string()).unwrap();
    fs::write(directory.join("tokenizer.json"), tokenizer().to_string()).unwrap();
}

fn tokenizer() -> Value {
    let words =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "disk", "full", "pod", "restart", "磁", "盘", "满", "了"];
    let vocab: serde_json::Map<String, Value> =
        words.iter().enumerate().map(|(i, word)| ((*word).to_owned(), json!(i))).collect();
    json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab}
    })
}
