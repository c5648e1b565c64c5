use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use hindsight_ports::{FilesRead, Probes, StoreError, Vacuum};
use hindsight_types::Timestamp;

use super::collection;
use crate::{Store, collection::Collection};

/// When the last vacuum of each collection began, as far as this process made it: many who delete something in a
/// short while share one.
#[derive(Debug, Default)]
pub(crate) struct Vacuumed(Mutex<HashMap<Collection, Timestamp>>);

impl Vacuumed {
    fn since(&self, collection: Collection, deleted_at: Timestamp) -> bool {
        let vacuumed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        vacuumed.get(&collection).is_some_and(|began| *began > deleted_at)
    }

    fn note(&self, collection: Collection, began: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(collection, began);
    }
}

#[async_trait]
impl Vacuum for Store {
    async fn vacuum(
        &self,
        parts: &[String],
        deleted_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for part in parts {
            let collection = collection(part)?;
            if !self.vacuumed.since(collection, deleted_at) && self.backend().vacuum(collection).await? {
                self.vacuumed.note(collection, now);
            }
        }
        Ok(())
    }

    async fn find(&self, probes: &Probes) -> Result<Option<FilesRead>, StoreError> {
        self.backend().raw().0.find(probes).await
    }
}
