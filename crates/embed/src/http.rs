mod wire;

use std::time::Duration;

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use secrecy::SecretString;

use crate::endpoint::{Endpoint, requests, sendable};

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
    /// Texts per request, at most; long ones are sent fewer at a time.
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
    caller: Caller,
    batch_size: usize,
    query_prefix: String,
    passage_prefix: String,
}

impl HttpEmbedder {
    pub async fn connect(settings: HttpSettings) -> Result<Self, EmbedError> {
        settings.check()?;
        let caller = Caller::new(&settings)?;
        let dimension = match settings.dimension {
            Some(dimension) => dimension,
            None => probe(&caller, &settings.passage_prefix).await?,
        };
        // A passage prefix changes every stored vector, so it is part of who made it.
        let model = match settings.passage_prefix.as_str() {
            "" => format!("http:{}", settings.model),
            prefix => format!("http:{} with prefix {prefix:?}", settings.model),
        };
        Ok(Self {
            id: EmbedderId { model, dimension },
            caller,
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
        format!("{prefix}{}", sendable(text))
    }
}

/// Asks the endpoint in its own terms.
#[derive(Debug)]
struct Caller {
    endpoint: Endpoint,
    model: String,
    dimensions: Option<usize>,
}

impl Caller {
    fn new(settings: &HttpSettings) -> Result<Self, EmbedError> {
        let HttpSettings { base_url, api_key, timeout, .. } = settings;
        Ok(Self {
            endpoint: Endpoint::new(base_url, "/embeddings", api_key.clone(), *timeout)?,
            model: settings.model.clone(),
            dimensions: settings.dimension.filter(|_| settings.shorten),
        })
    }

    /// One unit vector per input, in order.
    async fn embed(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let request = wire::Request {
            model: &self.model,
            input: inputs,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        wire::vectors(&self.endpoint.post(&request).await?, inputs.len())
    }
}

async fn probe(caller: &Caller, prefix: &str) -> Result<usize, EmbedError> {
    let vectors = caller.embed(&[format!("{prefix}dimension")]).await.map_err(|error| match error {
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
        let inputs: Vec<String> = texts.iter().map(|text| self.prepare(text, purpose)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for request in requests(&inputs, self.batch_size) {
            vectors.extend(self.caller.embed(request).await?);
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
