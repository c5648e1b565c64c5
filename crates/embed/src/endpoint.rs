use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use hindsight_ports::EmbedError;
use hindsight_text::truncate_chars;
use reqwest::{Client, Response, StatusCode, Url, header::RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

const RETRIES: usize = 3;
/// The longest wait between two tries. An endpoint that asks for more is reported as unavailable at once.
const MAX_WAIT: Duration = Duration::from_secs(20);
const MAX_BODY: usize = 64 << 20;
/// Longest text sent. Hosted models take about 8,000 tokens, and one Chinese character can be more than one.
const MAX_CHARS: usize = 6_000;
/// Hosted models take 300,000 tokens in one request.
const MAX_REQUEST_CHARS: usize = 150_000;
/// How much of an error's body is repeated, in characters.
const EXCERPT: usize = 300;

/// One address of a service that answers JSON with JSON.
#[derive(Debug)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    api_key: Option<SecretString>,
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
    /// `path` is what follows `base_url`, which may end with it already. `timeout` is for one request.
    pub(crate) fn new(
        base_url: &str,
        path: &str,
        api_key: Option<SecretString>,
        timeout: Duration,
    ) -> Result<Self, EmbedError> {
        install_crypto();
        let base = base_url.trim_end_matches('/').trim_end_matches(path);
        let url = Url::parse(&format!("{base}{path}"))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                EmbedError::Misconfigured(format!(
                    "base_url {base_url:?} is not an HTTP address; give one like https://api.openai.com/v1"
                ))
            })?;
        let client = Client::builder()
            .timeout(timeout)
            .build()
            .map_err(|e| EmbedError::Misconfigured(format!("no HTTP client: {e}")))?;
        Ok(Self { client, url, api_key })
    }

    /// The answer to `request`; tries again while the endpoint is away or overloaded.
    pub(crate) async fn post(&self, request: &impl Serialize) -> Result<Vec<u8>, EmbedError> {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(250))
            .with_max_delay(MAX_WAIT)
            .with_max_times(RETRIES);
        (|| self.send(request))
            .retry(backoff)
            .when(Failure::is_worth_another_try)
            .adjust(|failure, wait| wait.map(|wait| failure.retry_after.unwrap_or(wait)))
            .notify(|failure, wait| tracing::warn!(error = %failure.error, ?wait, "will be tried again"))
            .await
            .map_err(|failure| failure.error)
    }

    /// The answer to `request` or the first failure, for callers who cannot wait for more tries.
    pub(crate) async fn post_once(&self, request: &impl Serialize) -> Result<Vec<u8>, EmbedError> {
        self.send(request).await.map_err(|failure| failure.error)
    }

    async fn send(&self, request: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let mut builder = self.client.post(self.url.clone()).json(request);
        if let Some(key) = &self.api_key {
            builder = builder.bearer_auth(key.expose_secret());
        }
        let response = builder.send().await.map_err(transport)?;
        if response.status().is_success() { read(response).await } else { Err(refusal(response).await) }
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

/// A text as such endpoints take it: bounded, and not empty.
pub(crate) fn sendable(text: &str) -> &str {
    let text = truncate_chars(text, MAX_CHARS);
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// Cuts texts into requests of at most `count` texts and [`MAX_REQUEST_CHARS`] characters.
pub(crate) fn requests(texts: &[String], count: usize) -> impl Iterator<Item = &[String]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut chars = 0;
        let fits = rest.iter().take(count).take_while(|text| {
            chars += text.chars().count();
            chars <= MAX_REQUEST_CHARS
        });
        let (request, after) = rest.split_at(fits.count().max(1).min(rest.len()));
        rest = after;
        (!request.is_empty()).then_some(request)
    })
}

#[cfg(test)]
mod tests;
