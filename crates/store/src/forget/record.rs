//! Tombstones and forgettings as they are kept.

use hindsight_codec::RecordBody;
use hindsight_ports::StoreError;
use hindsight_types::{Forgetting, Forgotten, Scope};
use qdrant_client::qdrant::{PointStruct, RetrievedPoint};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field,
    fields::Fields,
    point,
    stored::Stored,
    swap::{Change, Round},
};

impl Stored for Forgotten {
    fn collection(&self) -> Collection {
        Collection::Forgettings
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> Uuid {
        self.subject.key()
    }

    fn fields(&self, fields: &mut Fields) {
        fields.time(field::AT, self.at);
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::Forgotten(self.clone())
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::Forgotten(forgotten) => Some(forgotten),
            _ => None,
        }
    }
}

impl Stored for Forgetting {
    fn collection(&self) -> Collection {
        Collection::Forgettings
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.time(field::AT, self.at);
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::Forgetting(Box::new(self.clone()))
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::Forgetting(forgetting) => Some(*forgetting),
            _ => None,
        }
    }
}

/// Of several times the latest counts.
pub(super) struct Entomb(pub(super) Forgotten);

impl Change for Entomb {
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        if let Some(stored) = stored
            && point::decode::<Forgotten>(stored)?.at >= self.0.at
        {
            return Ok(None);
        }
        Ok(Some(point::of(&self.0)))
    }
}

/// The next state, in place of the one that it was made from.
pub(super) struct Put(pub(super) Forgetting);

impl Change for Put {
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        let revision = match stored {
            Some(stored) => point::decode::<Forgetting>(stored)?.revision,
            None => 0,
        };
        let next = Forgetting { revision: revision + 1, ..self.0.clone() };
        Ok((revision == self.0.revision).then(|| point::of(&next)))
    }
}

#[cfg(test)]
mod tests;
