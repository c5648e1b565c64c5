//! On whose behalf Hindsight is asked.

use hindsight_client::Client;
use http::{HeaderMap, header, request::Parts};
use rmcp::{ErrorData, model::Extensions};
use secrecy::SecretString;

/// Gives each request a client with the right key.
#[derive(Debug, Clone)]
pub struct Access {
    client: Client,
    /// Whether a request must bring a key of its own.
    key_required: bool,
}

impl Access {
    /// Everyone who is served acts with the key of `client`, unless they bring one.
    pub fn own(client: Client) -> Self {
        Self { client, key_required: false }
    }

    /// Whoever brings no key is not served.
    pub fn brought(client: Client) -> Self {
        Self { client, key_required: true }
    }

    /// The client for a request with these headers.
    pub(crate) fn of_headers(&self, headers: &HeaderMap) -> Result<Client, Unidentified> {
        match bearer(headers) {
            Some(key) => self.client.with_key(&key).map_err(|_| Unidentified::Unreadable),
            None if headers.contains_key(header::AUTHORIZATION) => Err(Unidentified::Unreadable),
            None if self.key_required => Err(Unidentified::Missing),
            None => Ok(self.client.clone()),
        }
    }

    pub(crate) fn of(&self, extensions: &Extensions) -> Result<Client, ErrorData> {
        let headers = extensions.get::<Parts>().map(|parts| &parts.headers);
        let client = headers.map_or_else(|| self.of_headers(&HeaderMap::new()), |h| self.of_headers(h));
        client.map_err(|e| ErrorData::invalid_request(e.to_string(), None))
    }
}

/// A request that nobody answers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unidentified {
    #[error("an API key is required: send it as `Authorization: Bearer KEY`")]
    Missing,
    #[error("the Authorization header cannot be read: send `Bearer KEY`")]
    Unreadable,
}

fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then(|| SecretString::from(key))
}
