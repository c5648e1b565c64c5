//! On whose behalf Hindsight is asked.

use std::time::Duration;

use hindsight_client::{Client, Error};
use http::{HeaderMap, header, request::Parts};
use rmcp::{ErrorData, model::Extensions};
use secrecy::SecretString;
use tonic::Code;

use crate::Memory;

/// How long a memory that is being opened is waited for.
const OPENING: Duration = Duration::from_secs(30);

/// Gives each request a client with the right key.
#[derive(Debug, Clone)]
pub struct Access {
    memory: Memory,
    /// Whether a request must bring a key of its own.
    key_required: bool,
}

impl Access {
    /// Everyone who is served acts with the key of this process, unless they bring one.
    pub fn own(memory: Memory) -> Self {
        Self { memory, key_required: false }
    }

    /// Whoever brings no key is not served.
    pub fn brought(memory: Memory) -> Self {
        Self { memory, key_required: true }
    }

    /// The client for a request with these headers.
    pub(crate) async fn of_headers(&self, headers: &HeaderMap) -> Result<Client, Unidentified> {
        let key = match bearer(headers) {
            Some(key) => Some(key),
            None if headers.contains_key(header::AUTHORIZATION) => return Err(Unidentified::Unreadable),
            None if self.key_required => return Err(Unidentified::Missing),
            None => None,
        };
        let client = self.client().await.ok_or(Unidentified::Away)?;
        match key {
            Some(key) => client.with_key(&key).map_err(|_| Unidentified::Unreadable),
            None => Ok(client),
        }
    }

    /// The client of this process.
    pub(crate) async fn client(&self) -> Option<Client> {
        tokio::time::timeout(OPENING, self.memory.client()).await.ok().flatten()
    }

    pub(crate) async fn of(&self, extensions: &Extensions) -> Result<Client, ErrorData> {
        let none = HeaderMap::new();
        let headers = extensions.get::<Parts>().map_or(&none, |parts| &parts.headers);
        self.of_headers(headers).await.map_err(|e| ErrorData::invalid_request(e.to_string(), None))
    }

    /// Has another way to the memory looked for when this one is gone.
    pub(crate) fn note<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if result.as_ref().is_err_and(|e| e.code == Code::Unavailable) {
            self.memory.is_away();
        }
        result
    }
}

/// A request that nobody answers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unidentified {
    #[error("an API key is required: send it as `Authorization: Bearer KEY`")]
    Missing,
    #[error("the Authorization header cannot be read: send `Bearer KEY`")]
    Unreadable,
    #[error("the memory is not there; go on without it, or try again later")]
    Away,
}

fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then(|| SecretString::from(key))
}
