//! The dead letters of one tenant. The bus knows them by queue; whose they are is decided here, and nothing
//! of another tenant is shown, replayed or discarded.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hindsight_ports::{Bus, BusError, DeadLetter, PageRequest, Queue};
use hindsight_types::{Invalid, TenantId, Timestamp};
use uuid::Uuid;

/// Letters of a queue that are looked through at a time, the latest first.
const DEPTH: usize = 1000;

pub(crate) struct Letters {
    pub(crate) bus: Arc<dyn Bus>,
}

/// A page of a tenant's letters.
pub(crate) struct Listed {
    pub(crate) letters: Vec<DeadLetter>,
    pub(crate) next_token: String,
    /// Older letters may be there.
    pub(crate) truncated: bool,
}

/// Where the next page begins: the latest died first, equal times by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(std::cmp::Reverse<Timestamp>, Uuid);

impl Place {
    fn of(letter: &DeadLetter) -> Self {
        Self(std::cmp::Reverse(letter.died_at), letter.envelope.id)
    }

    fn token(self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}", self.0.0, self.1))
    }

    fn parse(token: &str) -> Result<Option<Self>, Invalid> {
        if token.is_empty() {
            return Ok(None);
        }
        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
            let (at, id) = text.split_once('/')?;
            Some(Self(std::cmp::Reverse(at.parse().ok()?), Uuid::parse_str(id).ok()?))
        };
        let problem = "is not of this list; begin again without one";
        read().map(Some).ok_or_else(|| Invalid::new("page_token", problem))
    }
}

impl Letters {
    /// The latest letters of the tenant, and whether there may be more.
    async fn all(&self, tenant: &TenantId, queues: &[Queue]) -> Result<(Vec<DeadLetter>, bool), BusError> {
        let (mut letters, mut truncated) = (Vec::new(), false);
        for queue in queues {
            let found = self.bus.dead_letters(*queue, DEPTH).await?;
            truncated |= found.len() == DEPTH;
            letters.extend(found.into_iter().filter(|l| l.envelope.tenant == *tenant));
        }
        letters.sort_by_key(Place::of);
        Ok((letters, truncated))
    }

    pub(crate) async fn list(
        &self,
        tenant: &TenantId,
        queues: &[Queue],
        page: &PageRequest,
    ) -> Result<Result<Listed, Invalid>, BusError> {
        let start = match Place::parse(&page.token) {
            Ok(start) => start,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let (mut letters, truncated) = self.all(tenant, queues).await?;
        letters.retain(|l| start.is_none_or(|s| Place::of(l) >= s));
        let next_token = letters.get(page.size).map(|l| Place::of(l).token()).unwrap_or_default();
        letters.truncate(page.size);
        Ok(Ok(Listed { letters, next_token, truncated }))
    }

    pub(crate) async fn get(
        &self,
        tenant: &TenantId,
        queues: &[Queue],
        id: Uuid,
    ) -> Result<Option<DeadLetter>, BusError> {
        for queue in queues {
            let found = self.bus.dead_letter(*queue, id).await?;
            if let Some(letter) = found.filter(|l| l.envelope.tenant == *tenant) {
                return Ok(Some(letter));
            }
        }
        Ok(None)
    }

    /// How many of them there were.
    pub(crate) async fn replay(
        &self,
        tenant: &TenantId,
        queues: &[Queue],
        ids: &[Uuid],
    ) -> Result<u32, BusError> {
        let mut replayed = 0;
        for id in ids {
            if let Some(letter) = self.get(tenant, queues, *id).await? {
                replayed += u32::from(self.bus.replay(letter.queue, *id).await?);
            }
        }
        Ok(replayed)
    }

    /// All that are dead now; one that dies again meanwhile is not taken twice.
    pub(crate) async fn replay_all(&self, tenant: &TenantId, queues: &[Queue]) -> Result<u32, BusError> {
        let mut replayed = 0;
        for letter in self.all(tenant, queues).await?.0 {
            replayed += u32::from(self.bus.replay(letter.queue, letter.envelope.id).await?);
        }
        Ok(replayed)
    }

    pub(crate) async fn discard(
        &self,
        tenant: &TenantId,
        queues: &[Queue],
        ids: &[Uuid],
    ) -> Result<u32, BusError> {
        let mut discarded = 0;
        for id in ids {
            if let Some(letter) = self.get(tenant, queues, *id).await? {
                discarded += u32::from(self.bus.discard(letter.queue, *id).await?);
            }
        }
        Ok(discarded)
    }
}
