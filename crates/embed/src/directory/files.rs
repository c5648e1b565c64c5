use std::{fs, io::ErrorKind, path::Path};

use hindsight_ports::EmbedError;
use serde::{Deserialize, de::DeserializeOwned};

/// Models of this family are far smaller; the bound keeps a wrong path from filling memory.
const MAX_BYTES: u64 = 4 << 30;

/// The part of `sentence_bert_config.json` that matters here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SentenceConfig {
    pub(crate) max_seq_length: Option<usize>,
}

pub(crate) fn misconfigured(path: &Path, problem: impl std::fmt::Display) -> EmbedError {
    EmbedError::Misconfigured(format!("{}: {problem}", path.display()))
}

pub(crate) fn required(directory: &Path, name: &str) -> Result<Vec<u8>, EmbedError> {
    optional(directory, name)?.ok_or_else(|| {
        misconfigured(
            &directory.join(name),
            "no such file; a model directory holds config.json, tokenizer.json and model.safetensors",
        )
    })
}

pub(crate) fn optional(directory: &Path, name: &str) -> Result<Option<Vec<u8>>, EmbedError> {
    let path = directory.join(name);
    let size = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(e) => return Err(misconfigured(&path, e)),
    };
    if size > MAX_BYTES {
        return Err(misconfigured(
            &path,
            format_args!("{size} bytes are more than the limit of {MAX_BYTES}"),
        ));
    }
    fs::read(&path).map(Some).map_err(|e| misconfigured(&path, e))
}

pub(crate) fn parse<T: DeserializeOwned>(
    directory: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<T, EmbedError> {
    serde_json::from_slice(bytes).map_err(|e| misconfigured(&directory.join(name), e))
}

pub(crate) fn optional_json<T: DeserializeOwned>(
    directory: &Path,
    name: &str,
) -> Result<Option<T>, EmbedError> {
    optional(directory, name)?.map(|bytes| parse(directory, name, &bytes)).transpose()
}
