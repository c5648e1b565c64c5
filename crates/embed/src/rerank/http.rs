use std::time::Duration;

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Reranker};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::sigmoid;
use crate::endpoint::{Endpoint, requests, sendable};

/// Texts per request.
const BATCH: usize = 64;

#[derive(Debug, Clone)]
pub struct HttpRerankerSettings {
    /// Up to and without `/rerank`: `https://api.jina.ai/v1`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    /// For one request, which is not tried again: a recall cannot wait.
    pub timeout: Duration,
    /// The endpoint gives what the model says as it is, without bounds, and not 0 to 1.
    pub logits: bool,
}

impl HttpRerankerSettings {
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            timeout: Duration::from_secs(10),
            logits: false,
        }
    }
}

/// A model behind a `POST /rerank` endpoint, as Cohere and Jina have it and vLLM, llama.cpp, Infinity and
/// others serve it. Texts are cut at 6,000 characters.
#[derive(Debug)]
pub struct HttpReranker {
    endpoint: Endpoint,
    model: String,
    logits: bool,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    model: &'a str,
    query: &'a str,
    documents: &'a [String],
    top_n: usize,
}

#[derive(Debug, Deserialize)]
struct Response {
    results: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    /// Place of its text in the request; the best come first.
    index: usize,
    relevance_score: f64,
}

impl HttpReranker {
    pub fn new(settings: HttpRerankerSettings) -> Result<Self, EmbedError> {
        let HttpRerankerSettings { base_url, model, api_key, timeout, logits } = settings;
        let wrong = |problem: &str| Err(EmbedError::Misconfigured(problem.to_owned()));
        if model.is_empty() {
            return wrong("model is empty; name the reranker that the endpoint serves");
        }
        if timeout.is_zero() {
            return wrong("timeout is 0; give the endpoint time to answer");
        }
        Ok(Self { endpoint: Endpoint::new(&base_url, "/rerank", api_key, timeout)?, model, logits })
    }

    async fn ask(&self, query: &str, documents: &[String]) -> Result<Vec<f32>, EmbedError> {
        let request = Request { model: &self.model, query, documents, top_n: documents.len() };
        let answer = self.endpoint.post_once(&request).await?;
        scores(&answer, documents.len())?.into_iter().map(|score| self.relevance(score)).collect()
    }

    fn relevance(&self, score: f64) -> Result<f32, EmbedError> {
        match score {
            score if !score.is_finite() => {
                Err(EmbedError::Rejected(format!("the endpoint gave the score {score}")))
            }
            logit if self.logits => Ok(sigmoid(logit)),
            score if (0.0..=1.0).contains(&score) => Ok(score as f32),
            score => Err(EmbedError::Misconfigured(format!(
                "the endpoint gave the score {score}, which is not between 0 and 1; set logits for a model \
                 whose answers have no bounds"
            ))),
        }
    }
}

/// Reads the answer to a request of `count` texts: one score each, in the order of the request.
fn scores(body: &[u8], count: usize) -> Result<Vec<f64>, EmbedError> {
    let wrong = |problem: String| {
        EmbedError::Misconfigured(format!("not the answer of a rerank endpoint: {problem}"))
    };
    let response: Response = serde_json::from_slice(body).map_err(|e| wrong(e.to_string()))?;
    let mut scores: Vec<Option<f64>> = vec![None; count];
    for Item { index, relevance_score } in response.results {
        match scores.get_mut(index) {
            Some(slot @ None) => *slot = Some(relevance_score),
            Some(Some(_)) => return Err(wrong(format!("index {index} comes twice"))),
            None => return Err(wrong(format!("index {index} for {count} texts"))),
        }
    }
    let given: Vec<f64> = scores.into_iter().flatten().collect();
    if given.len() == count {
        Ok(given)
    } else {
        Err(wrong(format!("{} scores for {count} texts", given.len())))
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, EmbedError> {
        let query = sendable(query);
        let documents: Vec<String> = texts.iter().map(|text| sendable(text).to_owned()).collect();
        let mut relevance = Vec::with_capacity(texts.len());
        for request in requests(&documents, BATCH) {
            relevance.extend(self.ask(query, request).await?);
        }
        Ok(relevance)
    }
}

#[cfg(test)]
mod tests;
