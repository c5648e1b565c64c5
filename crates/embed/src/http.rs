mod call;
mod wire;

use std::time::Duration;

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use hindsight_text::truncate_chars;
use secrecy::SecretString;

use call::Endpoint;

/// Longest text sent. Hosted models take about 8,000 tokens, and one Chinese character can be more than one.
const MAX_CHARS: usize = 6_000;

/// Sent in place of a text without any character, which such endpoints refuse.
const EMPTY: &str = "(empty)";

#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Up to and without `/embeddings`: `https://api.openai.com/v1`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    /// Length of the vectors. Without it the endpoint is asked once, and must answer, at start.
    pub dimension: Option<usize>,
    /// Also asks the endpoint to shorten its vectors to `dimension`, for models that can.
    pub shorten: bool,
    /// For one request; a call may retry three times.
    pub timeout: Duration,
    /// Texts per request.
    pub batch_size: usize,
    /// Put before each text; the E5 family wants `query: ` and `passage: `.
    pub query_prefix: String,
    pub passage_prefix: String,
}

impl HttpSettings {
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            dimension: None,
            shorten: false,
            timeout: Duration::from_secs(30),
            batch_size: 64,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        }
    }

    fn check(&self) -> Result<(), EmbedError> {
        let wrong = |problem: &str| Err(EmbedError::Misconfigured(problem.to_owned()));
        if self.model.is_empty() {
            return wrong("model is empty; name the model that the endpoint serves");
        }
        if self.dimension == Some(0) {
            return wrong("dimension is 0; give the length of the model's vectors, or leave it out");
        }
        if self.shorten && self.dimension.is_none() {
            return wrong("shorten needs dimension, the length to shorten to");
        }
        if self.batch_size == 0 {
            return wrong("batch_size is 0; send at least 1 text per request");
        }
        if self.timeout.is_zero() {
            return wrong("timeout is 0; give the endpoint time to answer");
        }
        Ok(())
    }
}

/// A model behind an OpenAI-compatible `/v1/embeddings` endpoint. Texts are cut at 6,000 characters.
#[derive(Debug)]
pub struct HttpEmbedder {
    id: EmbedderId,
    endpoint: Endpoint,
    batch_size: usize,
    query_prefix: String,
    passage_prefix: String,
}

impl HttpEmbedder {
    pub async fn connect(settings: HttpSettings) -> Result<Self, EmbedError> {
        settings.check()?;
        let endpoint = Endpoint::new(&settings)?;
        let dimension = match settings.dimension {
            Some(dimension) => dimension,
            None => probe(&endpoint, &settings.passage_prefix).await?,
        };
        // A passage prefix changes every stored vector, so it is part of who made it.
        let model = match settings.passage_prefix.as_str() {
            "" => format!("http:{}", settings.model),
            prefix => format!("http:{} with prefix {prefix:?}", settings.model),
        };
        Ok(Self {
            id: EmbedderId { model, dimension },
            endpoint,
            batch_size: settings.batch_size,
            query_prefix: settings.query_prefix,
            passage_prefix: settings.passage_prefix,
        })
    }

    fn prepare(&self, text: &str, purpose: Purpose) -> String {
        let prefix = match purpose {
            Purpose::Query => &self.query_prefix,
            Purpose::Passage => &self.passage_prefix,
        };
        let text = truncate_chars(text, MAX_CHARS);
        format!("{prefix}{}", if text.trim().is_empty() { EMPTY } else { text })
    }
}

async fn probe(endpoint: &Endpoint, prefix: &str) -> Result<usize, EmbedError> {
    let vectors = endpoint.embed(&[format!("{prefix}dimension")]).await.map_err(|error| match error {
        EmbedError::Unavailable(reason) => {
            EmbedError::Unavailable(format!("{reason}; set dimension to start while the endpoint is away"))
        }
        other => other,
    })?;
    Ok(vectors.first().map_or(0, Vec::len))
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.batch_size) {
            let inputs: Vec<String> = batch.iter().map(|text| self.prepare(text, purpose)).collect();
            vectors.extend(self.endpoint.embed(&inputs).await?);
        }
        match vectors.iter().find(|vector| vector.len() != self.id.dimension) {
            None => Ok(vectors),
            Some(vector) => Err(EmbedError::Misconfigured(format!(
                "{} gave vectors of {} dimensions; set dimension to that, or shorten",
                self.id,
                vector.len()
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
