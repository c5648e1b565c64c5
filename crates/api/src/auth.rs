use std::{fmt, str::FromStr, sync::Arc};

use hindsight_types::TenantId;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tonic::{Request, Status};

use crate::status;

/// The tenant of everyone while no key is configured.
pub const DEFAULT_TENANT: &str = "default";

/// Longest `authorization` header that is looked at, in bytes.
const HEADER_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    Read,
    Write,
    Admin,
}

impl Permission {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a permission; use read, write or admin")]
pub struct UnknownPermission(pub String);

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(s: &str) -> Result<Self, UnknownPermission> {
        Self::ALL.into_iter().find(|p| p.as_str() == s).ok_or_else(|| UnknownPermission(s.to_owned()))
    }
}

/// A set of permissions. None implies another: `admin` alone may not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions(u8);

impl Permissions {
    pub fn all() -> Self {
        Permission::ALL.into_iter().collect()
    }

    pub fn contains(self, permission: Permission) -> bool {
        self.0 & (1 << permission as u8) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |set, p| set | 1 << p as u8))
    }
}

/// SHA-256 of an API key. The key itself is never kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a SHA-256 in hexadecimal; give the 64 digits that `printf %s KEY | sha256sum` prints")]
pub struct BadKeyHash;

impl KeyHash {
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }
}

impl FromStr for KeyHash {
    type Err = BadKeyHash;

    fn from_str(hex: &str) -> Result<Self, BadKeyHash> {
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadKeyHash);
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| BadKeyHash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Half a hash names a key well enough in a log, and none of it needs to be there.
impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

/// An API key as it is configured.
#[derive(Debug, Clone)]
pub struct Key {
    /// Shown in logs in place of the key.
    pub name: String,
    pub hash: KeyHash,
    pub tenant: TenantId,
    pub permissions: Permissions,
}

/// Who may call. Built once at start.
#[derive(Debug, Clone)]
pub struct Keyring(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Open(Caller),
    Keys(Vec<(KeyHash, Caller)>),
}

impl Keyring {
    /// Everyone is this tenant and may do everything. For loopback and for calls within a process.
    pub fn open(tenant: TenantId) -> Self {
        Self(Kind::Open(Caller { tenant, permissions: Permissions::all(), key: "none".into() }))
    }

    /// Only who holds one of these keys. An empty list lets nobody in.
    pub fn new(keys: Vec<Key>) -> Self {
        let caller = |k: Key| Caller { tenant: k.tenant, permissions: k.permissions, key: k.name.into() };
        Self(Kind::Keys(keys.into_iter().map(|k| (k.hash, caller(k))).collect()))
    }

    pub fn is_open(&self) -> bool {
        matches!(self.0, Kind::Open(_))
    }

    /// Who sent these headers.
    pub(crate) fn authenticate(&self, headers: &http::HeaderMap) -> Result<&Caller, Status> {
        let keys = match &self.0 {
            Kind::Open(caller) => return Ok(caller),
            Kind::Keys(keys) => keys,
        };
        let header = headers.get(http::header::AUTHORIZATION).ok_or_else(|| {
            status::unauthenticated("KEY_MISSING", "no API key; send the header `authorization: Bearer KEY`")
        })?;
        let presented = bearer(header).ok_or_else(|| {
            status::unauthenticated(
                "KEY_MALFORMED",
                "the authorization header is not `Bearer KEY`; send the header `authorization: Bearer KEY`",
            )
        })?;
        let hash = KeyHash::of(presented);
        // Every key is compared, each in constant time: how long it takes tells nothing.
        let mut found = None;
        for (candidate, caller) in keys {
            if bool::from(candidate.0.ct_eq(&hash.0)) {
                found = Some(caller);
            }
        }
        found.ok_or_else(|| {
            status::unauthenticated("KEY_UNKNOWN", "this API key is not known; check it with the operator")
        })
    }
}

fn bearer(header: &http::HeaderValue) -> Option<&str> {
    let text = header.to_str().ok().filter(|t| t.len() <= HEADER_BYTES)?;
    let (scheme, key) = text.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

/// Who calls. The edge puts it into the extensions of every request; the tenant comes from here alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: TenantId,
    pub permissions: Permissions,
    /// Name of the key that was shown; `none` while no key is configured.
    pub key: Arc<str>,
}

impl Caller {
    /// PERMISSION_DENIED unless the key carries `permission`.
    pub fn require(&self, permission: Permission) -> Result<(), Status> {
        if self.permissions.contains(permission) {
            return Ok(());
        }
        Err(status::permission_denied(&self.key, permission))
    }
}

/// Who sent this request. INTERNAL when the service runs without the edge.
pub fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| status::internal("auth", "the request did not pass the edge layer"))
}

#[cfg(test)]
mod tests;
