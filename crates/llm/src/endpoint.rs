//! One HTTP call to a provider, and what its failure means.

use std::{sync::Arc, time::Duration};

use hindsight_ports::{Clock, LlmError};
use hindsight_text::truncate_chars;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, header::RETRY_AFTER, redirect::Policy};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::{EndpointSettings, Prices};

/// Longest prompt sent, in bytes as JSON.
const MAX_REQUEST: usize = 4 << 20;
/// Longest answer read, in bytes.
const MAX_BODY: usize = 4 << 20;
/// How much of an error's body is repeated, in characters.
const EXCERPT: usize = 300;

/// Where a model is, and how to call it.
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    pub(crate) model: String,
    api_key: Option<SecretString>,
    timeout: Duration,
    pub(crate) prices: Prices,
    clock: Arc<dyn Clock>,
}

/// An answer that is no success, with what its meaning depends on.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The start of its body.
    pub(crate) text: String,
    retry_after: Option<Duration>,
}

/// Why a call brought no body.
pub(crate) enum Failure {
    Refused(Refusal),
    Broken(LlmError),
}

impl Endpoint {
    pub(crate) fn new(
        settings: &EndpointSettings,
        path: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LlmError> {
        settings.check()?;
        install_crypto();
        let base = settings.url.trim_end_matches('/').trim_end_matches(path);
        let url = Url::parse(&format!("{base}{path}"))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                misconfigured("url is not an HTTP address; give one like https://api.openai.com/v1")
            })?;
        let client = Client::builder()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            // A key goes to the address it was given for, and nowhere else.
            .redirect(Policy::none())
            .build()
            .map_err(|e| misconfigured(&format!("no HTTP client: {e}")))?;
        Ok(Self {
            client,
            url,
            model: settings.model.clone(),
            api_key: settings.api_key.clone(),
            timeout: settings.timeout,
            prices: settings.prices,
            clock,
        })
    }

    /// Sends a body; `sign` puts the key where the provider wants it.
    pub(crate) async fn call(
        &self,
        body: &impl Serialize,
        sign: impl FnOnce(RequestBuilder, Option<&str>) -> RequestBuilder,
    ) -> Result<Vec<u8>, Failure> {
        let body = serde_json::to_vec(body).map_err(|e| invalid(&e.to_string()))?;
        if body.len() > MAX_REQUEST {
            let problem =
                format!("a prompt of {} bytes is longer than {MAX_REQUEST}; shorten it", body.len());
            return Err(invalid(&problem));
        }
        let request =
            self.client.post(self.url.clone()).header("content-type", "application/json").body(body);
        let request = sign(request, self.api_key.as_ref().map(SecretString::expose_secret));
        let response = request.send().await.map_err(|e| self.transport(e))?;
        let status = response.status();
        if status.is_success() {
            return self.read(response).await;
        }
        let retry_after = self.retry_after(&response);
        let body = self.read(response).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let text = self.without_key(truncate_chars(text.trim(), EXCERPT));
        Err(Failure::Refused(Refusal { status, text, retry_after }))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.transport(e))? {
            if body.len() + chunk.len() > MAX_BODY {
                let reason = format!("the endpoint's answer is longer than {MAX_BODY} bytes");
                return Err(Failure::Broken(malformed(reason)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Before a connection stands nothing was asked; afterwards an answer may have been made and paid for.
    /// The URL may hold credentials, so it stays out of the message.
    fn transport(&self, error: reqwest::Error) -> Failure {
        if error.is_timeout() && !error.is_connect() {
            return Failure::Broken(LlmError::TimedOut { after: self.timeout });
        }
        let error = error.without_url();
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        let reason = format!("{error}{cause}");
        Failure::Broken(LlmError::Unavailable { reason, retry_after: None })
    }

    /// Seconds, or a date of HTTP.
    fn retry_after(&self, response: &Response) -> Option<Duration> {
        let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let date = DateTimeParser::new().parse_timestamp(text).ok()?;
        Some(Duration::try_from(date.duration_since(self.clock.now())).unwrap_or_default())
    }

    /// Some endpoints repeat a wrong key in their answer.
    fn without_key(&self, text: &str) -> String {
        match &self.api_key {
            Some(key) => text.replace(key.expose_secret(), "(key)"),
            None => text.to_owned(),
        }
    }
}

impl From<Refusal> for LlmError {
    fn from(Refusal { status, text, retry_after }: Refusal) -> Self {
        let reason = format!("the endpoint answered {status}: {text}");
        match status {
            StatusCode::TOO_MANY_REQUESTS if is_out_of_credit(&text) => {
                misconfigured(&format!("{reason}; the account of api_key has no credit left"))
            }
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited { reason, retry_after },
            StatusCode::NOT_IMPLEMENTED => Self::InvalidRequest { reason },
            StatusCode::REQUEST_TIMEOUT => Self::Unavailable { reason, retry_after },
            _ if status.is_server_error() => Self::Unavailable { reason, retry_after },
            _ if status.is_redirection() => misconfigured(&format!("{reason}; check url")),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYMENT_REQUIRED => {
                misconfigured(&format!("{reason}; check api_key"))
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                misconfigured(&format!("{reason}; check url and model"))
            }
            _ => Self::InvalidRequest { reason },
        }
    }
}

impl From<Failure> for LlmError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Broken(error) => error,
        }
    }
}

/// OpenAI says so with the status of a rate limit, for which waiting would never end.
fn is_out_of_credit(text: &str) -> bool {
    text.contains("insufficient_quota")
}

pub(crate) fn malformed(reason: impl Into<String>) -> LlmError {
    LlmError::Malformed { reason: reason.into(), usage: Default::default() }
}

fn misconfigured(reason: &str) -> LlmError {
    LlmError::Misconfigured { reason: reason.to_owned() }
}

fn invalid(reason: &str) -> Failure {
    Failure::Broken(LlmError::InvalidRequest { reason: reason.to_owned() })
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
