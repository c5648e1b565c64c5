//! `[bus]` and `[store]`: what stands between the roles. Embedded by default; a cluster names a broker and
//! a server.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;
use serde::Serialize;

use crate::{
    load::required,
    model::{duration, secret},
    section::{Findings, Section},
};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Serialize)]
pub struct Bus {
    #[serde(flatten)]
    pub kind: BusKind,
    /// Messages of a queue from which on publishers are told to slow down.
    pub max_depth: u64,
}

impl Default for Bus {
    fn default() -> Self {
        Self { kind: BusKind::Local, max_depth: 200_000 }
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BusKind {
    /// SQLite in the data directory; for one process.
    Local,
    Amqp(AmqpBus),
}

/// A RabbitMQ.
#[derive(Debug, Clone, Serialize)]
pub struct AmqpBus {
    /// `amqp://HOST:PORT/VHOST`, or `amqps://…` for TLS. Holds no password.
    pub url: String,
    /// `guest` when neither this nor the file is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(serialize_with = "secret", skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretString>,
    /// These files are read at every connect, so that a rotated secret is taken up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// PEM of authorities that are trusted beside the system's, for `amqps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// How long an operation waits for the broker, connecting included.
    #[serde(serialize_with = "duration")]
    pub timeout: Duration,
    /// A connection on which nothing came for twice this long is lost.
    #[serde(serialize_with = "duration")]
    pub heartbeat: Duration,
    /// Put before the names of queues and exchanges, so that several installations share a broker.
    pub prefix: String,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Store {
    /// An engine within the process, in the data directory; for one process.
    #[default]
    Edge,
    Qdrant(Qdrant),
}

/// A Qdrant server or cluster.
#[derive(Debug, Clone, Serialize)]
pub struct Qdrant {
    /// Of the gRPC port: `http://HOST:6334`, or `https://…` for TLS.
    pub url: String,
    #[serde(serialize_with = "secret", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// Of a call with all its attempts.
    #[serde(serialize_with = "duration")]
    pub timeout: Duration,
    #[serde(serialize_with = "duration")]
    pub connect_timeout: Duration,
    /// Connections among which the calls are shared out.
    pub connections: usize,
    /// Put before the names of collections, so that several installations share a server.
    pub prefix: String,
    /// The rest says how collections are laid out when they are created.
    pub on_disk_vectors: bool,
    pub on_disk_indexes: bool,
    pub quantization: Quantization,
    /// Of each collection; the server's choice when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Copies that must have a write before it is acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_consistency: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantization {
    None,
    Int8,
}

pub(crate) fn bus(mut s: Section<'_>, f: &mut Findings) -> Bus {
    let d = Bus::default();
    let is_amqp = s.choice("kind", &[("local", false), ("amqp", true)], f);
    let max_depth = s.number("max_depth", 1_000..=100_000_000, f).unwrap_or(d.max_depth);
    let kind = match is_amqp {
        Some(true) => amqp(&mut s, f).map_or(BusKind::Local, BusKind::Amqp),
        Some(false) => BusKind::Local,
        // The other keys belong to a kind that cannot be told.
        None if s.is_set("kind") => return d,
        None => BusKind::Local,
    };
    s.finish(f);
    Bus { kind, max_depth }
}

fn amqp(s: &mut Section<'_>, f: &mut Findings) -> Option<AmqpBus> {
    let what = "the broker, as in \"amqp://rabbitmq:5672\"";
    let url = required(s.text("url", f), "url", what, s, f);
    let url = url.filter(|u| is_url(u, &["amqp://", "amqps://"], "username and password_file", s, f));
    let bus = AmqpBus {
        url: url.clone().unwrap_or_default(),
        username: s.text("username", f),
        password: s.secret("password", f),
        username_file: s.text("username_file", f).map(Into::into),
        password_file: s.text("password_file", f).map(Into::into),
        ca_file: s.text("ca_file", f).map(Into::into),
        timeout: s.duration("timeout", SECOND..=300 * SECOND, f).unwrap_or(10 * SECOND),
        heartbeat: s.duration("heartbeat", SECOND..=600 * SECOND, f).unwrap_or(10 * SECOND),
        prefix: prefix(s, f),
    };
    for (name, file) in [("username", "username_file"), ("password", "password_file")] {
        if s.is_set(name) && s.is_set(file) {
            f.mistakes.push(s.mistake(file, format!("is given beside `{name}`; leave one out")));
        }
    }
    if bus.ca_file.is_some() && bus.url.starts_with("amqp://") {
        f.mistakes.push(s.mistake("ca_file", "is for TLS, but `url` begins with amqp://; use amqps://"));
    }
    url.map(|_| bus)
}

pub(crate) fn store(mut s: Section<'_>, f: &mut Findings) -> Store {
    let store = match s.choice("kind", &[("edge", false), ("qdrant", true)], f) {
        Some(true) => qdrant(&mut s, f).map(Store::Qdrant),
        Some(false) => None,
        None if s.is_set("kind") => return Store::default(),
        None => None,
    };
    s.finish(f);
    store.unwrap_or_default()
}

fn qdrant(s: &mut Section<'_>, f: &mut Findings) -> Option<Qdrant> {
    let what = "the gRPC port of the server, as in \"http://qdrant:6334\"";
    let url = required(s.text("url", f), "url", what, s, f);
    let url = url.filter(|u| is_url(u, &["http://", "https://"], "api_key_file", s, f));
    let quantizations = [("none", Quantization::None), ("int8", Quantization::Int8)];
    let store = Qdrant {
        url: url.clone().unwrap_or_default(),
        api_key: s.secret_or_file("api_key", "api_key_file", f),
        timeout: s.duration("timeout", SECOND / 10..=300 * SECOND, f).unwrap_or(5 * SECOND),
        connect_timeout: s.duration("connect_timeout", SECOND / 10..=60 * SECOND, f).unwrap_or(2 * SECOND),
        connections: s.number("connections", 1..=64, f).unwrap_or(3),
        prefix: prefix(s, f),
        on_disk_vectors: s.switch("on_disk_vectors", f).unwrap_or(true),
        on_disk_indexes: s.switch("on_disk_indexes", f).unwrap_or(false),
        quantization: s.choice("quantization", &quantizations, f).unwrap_or(Quantization::None),
        shards: s.number("shards", 1..=1_000, f),
        replicas: s.number("replicas", 1..=100, f),
        write_consistency: s.number("write_consistency", 1..=100, f),
    };
    let replicas = store.replicas.unwrap_or(1);
    if store.write_consistency.unwrap_or(1) > replicas {
        let problem = format!("is more than `replicas` ({replicas}); no write could succeed");
        f.mistakes.push(s.mistake("write_consistency", problem));
    }
    url.map(|_| store)
}

/// Complains about a URL of another scheme, or one that holds a secret, which would be shown.
pub(crate) fn is_url(url: &str, schemes: &[&str], instead: &str, s: &Section<'_>, f: &mut Findings) -> bool {
    let Some(rest) = schemes.iter().find_map(|scheme| url.strip_prefix(scheme)) else {
        f.mistakes.push(s.mistake("url", format!("does not begin with {}", schemes.join(" or "))));
        return false;
    };
    let holds_secret = rest.split('/').next().is_some_and(|authority| authority.contains('@'));
    if holds_secret {
        f.mistakes.push(s.mistake("url", format!("holds a user or password; give {instead} instead")));
    }
    !holds_secret
}

/// Becomes part of names on the other side.
fn prefix(s: &mut Section<'_>, f: &mut Findings) -> String {
    let prefix = s.prefix("prefix", f).unwrap_or_default();
    let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if prefix.len() > 32 || !prefix.chars().all(accepted) {
        f.mistakes.push(s.mistake("prefix", "use at most 32 letters, digits, `_` and `-` of ASCII"));
    }
    prefix
}

#[cfg(test)]
mod tests;
