//! `[recall.reranker]`: a model that reads the question and the few best memories together. None by default.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde::Serialize;

use crate::{
    adapters::is_url,
    load::required,
    model::{duration, secret},
    section::{Findings, Section},
};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Reranker {
    /// A `/rerank` endpoint, as Cohere and Jina have it.
    Http(HttpReranker),
    Directory {
        /// A cross-encoder: `config.json`, `tokenizer.json`, `model.safetensors`.
        path: PathBuf,
    },
}

#[derive(Debug, Clone, Serialize)]
pub struct HttpReranker {
    /// Up to and without `/rerank`.
    pub url: String,
    pub model: String,
    #[serde(serialize_with = "secret", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// Of one request; a recall's deadline ends it earlier.
    #[serde(serialize_with = "duration")]
    pub timeout: Duration,
    /// The endpoint's scores have no bounds, and are not 0 to 1.
    pub logits: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Http,
    Directory,
}

pub(crate) fn reranker(mut s: Section<'_>, f: &mut Findings) -> Option<Reranker> {
    let kinds = [("http", Kind::Http), ("directory", Kind::Directory)];
    let kind = s.choice("kind", &kinds, f);
    let reranker = match kind {
        Some(Kind::Http) => http(&mut s, f).map(Reranker::Http),
        Some(Kind::Directory) => s.model_directory("path", f).map(|path| Reranker::Directory { path }),
        // The other keys belong to a kind that cannot be told.
        None if s.is_set("kind") => return None,
        None if ["url", "model", "path"].iter().any(|key| s.is_set(key)) => {
            f.mistakes.push(s.mistake("kind", "is missing; give \"http\" or \"directory\""));
            return None;
        }
        None => None,
    };
    s.finish(f);
    reranker
}

fn http(s: &mut Section<'_>, f: &mut Findings) -> Option<HttpReranker> {
    let url = required(s.text("url", f), "url", "the endpoint, as in \"https://api.jina.ai/v1\"", s, f);
    let url = url.filter(|u| is_url(u, &["http://", "https://"], "api_key_file", s, f));
    let model = required(s.text("model", f), "model", "the name the endpoint knows it by", s, f);
    let api_key = s.secret_or_file("api_key", "api_key_file", f);
    let timeout = s.duration("timeout", SECOND / 10..=60 * SECOND, f).unwrap_or(10 * SECOND);
    let logits = s.switch("logits", f).unwrap_or(false);
    Some(HttpReranker { url: url?, model: model?, api_key, timeout, logits })
}

#[cfg(test)]
mod tests;
