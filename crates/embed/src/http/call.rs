use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use hindsight_ports::EmbedError;
use hindsight_text::truncate_chars;
use reqwest::{Client, Response, StatusCode, Url, header::RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};

use super::{HttpSettings, wire};

const RETRIES: usize = 3;
/// The longest wait between two tries. An endpoint that asks for more is reported as unavailable at once.
const MAX_WAIT: Duration = Duration::from_secs(20);
const MAX_BODY: usize = 64 << 20;
/// How much of an error's body is repeated, in characters.
const EXCERPT: usize = 300;

#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    model: String,
    api_key: Option<SecretString>,
    dimensions: Option<usize>,
}

/// A failed try, and what the endpoint said about the next one.
#[derive(Debug)]
struct Failure {
    error: EmbedError,
    retry_after: Option<Duration>,
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Self {
        Self { error, retry_after: None }
    }
}

impl Failure {
    fn is_worth_another_try(&self) -> bool {
        matches!(self.error, EmbedError::Unavailable(_))
            && self.retry_after.is_none_or(|wait| wait <= MAX_WAIT)
    }
}

impl Endpoint {
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, EmbedError> {
        install_crypto();
        let base = settings.base_url.trim_end_matches('/').trim_end_matches("/embeddings");
        let url = Url::parse(&format!("{base}/embeddings"))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                EmbedError::Misconfigured(format!(
                    "base_url {:?} is not an HTTP address; give one like https://api.openai.com/v1",
                    settings.base_url
                ))
            })?;
        let client = Client::builder()
            .timeout(settings.timeout)
            .build()
            .map_err(|e| EmbedError::Misconfigured(format!("no HTTP client: {e}")))?;
        Ok(Self {
            client,
            url,
            model: settings.model.clone(),
            api_key: settings.api_key.clone(),
            dimensions: settings.dimension.filter(|_| settings.shorten),
        })
    }

    /// One unit vector per input, in order; tries again while the endpoint is away or overloaded.
    pub(super) async fn embed(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(250))
            .with_max_delay(MAX_WAIT)
            .with_max_times(RETRIES);
        (|| self.send(inputs))
            .retry(backoff)
            .when(Failure::is_worth_another_try)
            .adjust(|failure, wait| wait.map(|wait| failure.retry_after.unwrap_or(wait)))
            .notify(|failure, wait| tracing::warn!(error = %failure.error, ?wait, "embedding will be tried again"))
            .await
            .map_err(|failure| failure.error)
    }

    async fn send(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let body = wire::Request {
            model: &self.model,
            input: inputs,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        let mut request = self.client.post(self.url.clone()).json(&body);
        if let Some(key) = &self.api_key {
            request = request.bearer_auth(key.expose_secret());
        }
        let response = request.send().await.map_err(transport)?;
        if response.status().is_success() {
            Ok(wire::vectors(&read(response).await?, inputs.len())?)
        } else {
            Err(refusal(response).await)
        }
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(transport)? {
        if body.len() + chunk.len() > MAX_BODY {
            let problem = format!("the endpoint's answer is longer than {MAX_BODY} bytes; lower batch_size");
            return Err(EmbedError::Misconfigured(problem).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The URL may hold credentials, so it stays out of the message.
fn transport(error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    EmbedError::Unavailable(format!("{error}{cause}")).into()
}

async fn refusal(response: Response) -> Failure {
    let status = response.status();
    let retry_after = retry_after(&response);
    let body = read(response).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    let message = format!("the endpoint answered {status}: {}", truncate_chars(body.trim(), EXCERPT));
    let error = match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => EmbedError::Unavailable(message),
        _ if status.is_server_error() => EmbedError::Unavailable(message),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            EmbedError::Misconfigured(format!("{message}; check api_key"))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            EmbedError::Misconfigured(format!("{message}; check base_url and model"))
        }
        _ => EmbedError::Rejected(message),
    };
    Failure { error, retry_after }
}

/// In seconds; the date form, which such endpoints do not use, counts as absent.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: f64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// rustls wants one provider for the process. Another crate may have installed one before: then it serves.
fn install_crypto() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only when another thread installed one in between, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
    });
}
