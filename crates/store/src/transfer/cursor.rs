use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hindsight_ports::StoreError;
use hindsight_types::TenantId;
use prost::Message;
use uuid::Uuid;

use super::ORDER;

/// Longer tokens are not ours.
const TOKEN_BYTES: usize = 256;

/// Where an export goes on: in which of the collections, from which point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) place: usize,
    pub(super) from: Option<Uuid>,
}

#[derive(Clone, PartialEq, Message)]
struct Token {
    #[prost(bytes = "vec", tag = "1")]
    binding: Vec<u8>,
    /// By name, so that a collection that is added later moves nothing.
    #[prost(string, tag = "2")]
    collection: String,
    /// Empty: from the first on.
    #[prost(bytes = "vec", tag = "3")]
    from: Vec<u8>,
}

fn binding(tenant: &TenantId) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("export\n{tenant}").as_bytes())
}

impl Cursor {
    pub(super) fn token(self, tenant: &TenantId) -> String {
        let token = Token {
            binding: binding(tenant).as_bytes().to_vec(),
            collection: ORDER.get(self.place).map(|c| c.name().to_owned()).unwrap_or_default(),
            from: self.from.map(|id| id.as_bytes().to_vec()).unwrap_or_default(),
        };
        URL_SAFE_NO_PAD.encode(token.encode_to_vec())
    }

    pub(super) fn parse(tenant: &TenantId, token: &str) -> Result<Self, StoreError> {
        if token.is_empty() {
            return Ok(Self { place: 0, from: None });
        }
        Self::read(tenant, token).ok_or_else(|| {
            StoreError::Rejected(
                "cursor: is not of an export of this tenant; begin again without one".to_owned(),
            )
        })
    }

    fn read(tenant: &TenantId, token: &str) -> Option<Self> {
        let bytes = (token.len() <= TOKEN_BYTES).then(|| URL_SAFE_NO_PAD.decode(token).ok())??;
        let token = Token::decode(bytes.as_slice()).ok()?;
        let place = ORDER.iter().position(|c| c.name() == token.collection)?;
        let from = match token.from.as_slice() {
            [] => None,
            bytes => Some(Uuid::from_slice(bytes).ok()?),
        };
        (token.binding == binding(tenant).as_bytes()).then_some(Self { place, from })
    }
}
