use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use hindsight_ports::{BusError, Clock, SystemClock};
use lapin::{
    tcp::OwnedTLSConfig,
    uri::{AMQPScheme, AMQPUri},
};
use secrecy::{ExposeSecret, SecretString};

#[derive(Clone)]
pub struct AmqpOptions {
    /// `amqp://user:password@host:5672/vhost`, or `amqps://` with TLS. Without a user: `guest`.
    pub url: SecretString,
    /// Files whose content, without white space around it, replaces user and password of the URL. They are
    /// read at every connect, so that a rotated secret is taken up.
    pub username_file: Option<PathBuf>,
    pub password_file: Option<PathBuf>,
    /// PEM file of authorities that are trusted beside the system's, for `amqps`.
    pub ca_file: Option<PathBuf>,
    /// Before every name on the broker, so that several installations can share a virtual host.
    pub prefix: String,
    /// Messages of a queue that wait to be delivered; near it `publish` answers `Full`, until a fifth is
    /// consumed. It is fixed when the queue is first declared.
    pub max_depth: u64,
    /// How long an operation waits for the broker, connecting included, before it is `Unavailable`.
    pub timeout: Duration,
    /// A connection on which nothing came for twice this long is lost. Whole seconds.
    pub heartbeat: Duration,
    pub clock: Arc<dyn Clock>,
}

impl AmqpOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            username_file: None,
            password_file: None,
            ca_file: None,
            prefix: String::new(),
            max_depth: 1_000_000,
            timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(10),
            clock: Arc::new(SystemClock),
        }
    }

    /// What can be told without a broker. Names the option that is wrong.
    pub(crate) fn check(&self) -> Result<(), BusError> {
        let uri = self.parse()?;
        if uri.scheme == AMQPScheme::AMQP && self.ca_file.is_some() {
            return Err(BusError::Rejected("ca_file: needs an amqps:// url".into()));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.prefix.len() > 100 || !self.prefix.chars().all(plain) {
            return Err(BusError::Rejected(format!(
                "prefix {:?}: must be at most 100 letters, digits, '.', '_' and '-'",
                self.prefix
            )));
        }
        if self.max_depth == 0 || self.timeout.is_zero() {
            return Err(BusError::Rejected("max_depth and timeout: must be above 0".into()));
        }
        if !(1..=600).contains(&self.heartbeat.as_secs()) {
            return Err(BusError::Rejected("heartbeat: must be 1 to 600 seconds".into()));
        }
        Ok(())
    }

    /// The parser's message does not repeat the URL, which may hold a password.
    fn parse(&self) -> Result<AMQPUri, BusError> {
        self.url.expose_secret().parse().map_err(|e| {
            BusError::Rejected(format!("url: {e}; expected amqp[s]://user:password@host:port/vhost"))
        })
    }

    /// The address with its credentials, and what TLS trusts. Reads the files.
    pub(crate) async fn target(&self) -> Result<(AMQPUri, OwnedTLSConfig), BusError> {
        let mut uri = self.parse()?;
        if let Some(file) = &self.username_file {
            uri.authority.userinfo.username = read("username_file", file).await?.trim().to_owned();
        }
        if let Some(file) = &self.password_file {
            uri.authority.userinfo.password = read("password_file", file).await?.trim().to_owned();
        }
        let heartbeat = u16::try_from(self.heartbeat.as_secs()).unwrap_or(u16::MAX);
        uri.query.heartbeat = Some(heartbeat);
        let cert_chain = match &self.ca_file {
            Some(file) => Some(read("ca_file", file).await?),
            None => None,
        };
        Ok((uri, OwnedTLSConfig { identity: None, cert_chain }))
    }
}

async fn read(option: &str, file: &PathBuf) -> Result<String, BusError> {
    let text = tokio::fs::read_to_string(file).await;
    text.map_err(|e| BusError::Unavailable(format!("{option} {}: {e}", file.display())))
}

impl fmt::Debug for AmqpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpOptions")
            .field("prefix", &self.prefix)
            .field("max_depth", &self.max_depth)
            .field("timeout", &self.timeout)
            .field("heartbeat", &self.heartbeat)
            .finish_non_exhaustive()
    }
}
