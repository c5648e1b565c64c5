use std::time::Duration;

use hindsight_ports::StoreError;
use http::Uri;
use secrecy::SecretString;

use crate::CollectionLayout;

/// Most connections to one server; each carries many calls at once.
const MAX_CONNECTIONS: usize = 64;

#[derive(Debug, Clone)]
pub struct QdrantOptions {
    /// Of the server's gRPC port, `http://host:6334`, or `https://…` for TLS, which trusts the certificates that
    /// the system trusts (or those in the file that `SSL_CERT_FILE` names).
    pub url: String,
    pub api_key: Option<SecretString>,
    /// Of a call with all its attempts. Making a collection or an index may take longer: a minute.
    pub timeout: Duration,
    /// Of one attempt to connect.
    pub connect_timeout: Duration,
    /// Connections among which the calls are shared out.
    pub connections: usize,
    pub layout: CollectionLayout,
}

impl Default for QdrantOptions {
    fn default() -> Self {
        Self {
            url: "http://localhost:6334".to_owned(),
            api_key: None,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(2),
            connections: 3,
            layout: CollectionLayout::default(),
        }
    }
}

impl QdrantOptions {
    /// `Rejected` names the option that cannot be used.
    pub(crate) fn check(&self) -> Result<Uri, StoreError> {
        for (option, duration) in [("timeout", self.timeout), ("connect_timeout", self.connect_timeout)] {
            if duration.is_zero() {
                return Err(rejected(option, "zero leaves no time at all; give a duration"));
            }
        }
        if self.connections == 0 || self.connections > MAX_CONNECTIONS {
            return Err(rejected("connections", &format!("must be between 1 and {MAX_CONNECTIONS}")));
        }
        self.layout.check()?;
        self.uri()
    }

    fn uri(&self) -> Result<Uri, StoreError> {
        let example = "give it as in http://host:6334";
        let uri: Uri = self.url.parse().map_err(|e| rejected("url", &format!("{e}; {example}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(rejected("url", &format!("must begin with http:// or https://; {example}")));
        }
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err(rejected("url", "must not hold a user or password; give the key as api_key"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(rejected("url", &format!("ends with the port, no path follows; {example}")));
        }
        if uri.port_u16().is_none() {
            return Err(rejected("url", &format!("has no port; {example}")));
        }
        Ok(uri)
    }
}

pub(crate) fn rejected(option: &str, problem: &str) -> StoreError {
    StoreError::Rejected(format!("{option}: {problem}"))
}

#[cfg(test)]
mod tests;
