//! Giving a collection a named vector and taking one away. Runs on the owner thread, and not during an
//! optimisation.
//!
//! The engine changes its segments one after the other, and does not open a shard whose segments differ. At
//! every moment here all segments have the vectors that the description names, and some may have one more;
//! opening takes that one away ([`strip`]), so that a crash in between leaves the state before or after.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, PoisonError},
};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{CreateCollection, CreateVectorNameRequest, DeleteVectorNameRequest};
use serde_json::Value;

use super::owner::Owner;
use crate::{
    convert::{
        names::{creation, deletion, with_vector, without_vector},
        schema::{Schema, collection_to_engine},
    },
    files::replace,
    refuse::{refuse, rejected},
};

impl Owner {
    pub(super) fn create_vector_name(&mut self, request: &CreateVectorNameRequest) -> Result<(), StoreError> {
        let name = &request.vector_name;
        if self.schema().knows(name) {
            return Ok(());
        }
        let created = with_vector(&self.created(), request)?;
        let (config, _) = collection_to_engine(&created)?;
        let operation = creation(&config, name)
            .ok_or_else(|| rejected("create_vector_name.vector_config", "makes no vector"))?;
        self.flushed()?;
        self.engine().run(|shard| shard.update(operation)).inspect_err(|error| self.fail(error))?;
        self.describe(created)
    }

    pub(super) fn delete_vector_name(&mut self, request: &DeleteVectorNameRequest) -> Result<(), StoreError> {
        let DeleteVectorNameRequest { collection_name: _, wait: _, ordering: _, vector_name, timeout } =
            request;
        refuse("delete_vector_name", &[("timeout", timeout.is_some())])?;
        if !self.schema().knows(vector_name) {
            return Ok(());
        }
        // A record of the journal that has the vector could not be replayed without it.
        self.flushed()?;
        self.describe(without_vector(&self.created(), vector_name))?;
        let operation = deletion(vector_name);
        if let Err(error) = self.engine().run(|shard| shard.update(operation)) {
            // It is gone: opening the shard anew finishes it.
            self.fail(&error);
        }
        Ok(())
    }

    fn created(&self) -> CreateCollection {
        self.description.lock().unwrap_or_else(PoisonError::into_inner).created.clone()
    }

    fn flushed(&mut self) -> Result<(), StoreError> {
        if self.flush() {
            return Ok(());
        }
        let name = &self.opening.name;
        Err(StoreError::Unavailable(format!("collection {name:?}: what was written cannot be flushed")))
    }

    /// Has the collection be as if it had been created like this, from now on and after every later start.
    fn describe(&mut self, created: CreateCollection) -> Result<(), StoreError> {
        let (config, schema) = collection_to_engine(&created)?;
        let mut description = self.description.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = description.clone();
        next.created = created;
        next.save(&self.opening.places)?;
        *description = next;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(schema.clone());
        self.opening.config = config;
        self.opening.schema = schema;
        Ok(())
    }
}

/// Takes from every segment of a closed shard the vectors that `schema` does not know, with their files.
pub(super) fn strip(shard: &Path, schema: &Schema) -> io::Result<()> {
    let entries = match fs::read_dir(shard.join("segments")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let segment = entry?.path();
        if segment.is_dir() {
            strip_state(&segment.join("segment.json"), schema)?;
            strip_files(&segment, schema)?;
        }
    }
    Ok(())
}

/// `segment.json` is the engine's list of what a segment holds.
fn strip_state(path: &Path, schema: &Schema) -> io::Result<()> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        bytes => bytes?,
    };
    let mut state: Value = serde_json::from_slice(&bytes)?;
    let mut changed = false;
    for kind in ["vector_data", "sparse_vector_data"] {
        // Not by index, which would write a null where the engine wrote nothing.
        if let Some(vectors) = state.pointer_mut(&format!("/config/{kind}")).and_then(Value::as_object_mut) {
            let before = vectors.len();
            vectors.retain(|name, _| schema.knows(name));
            changed |= vectors.len() < before;
        }
    }
    if changed { replace(path, &serde_json::to_vec(&state)?) } else { Ok(()) }
}

fn strip_files(segment: &Path, schema: &Schema) -> io::Result<()> {
    for entry in fs::read_dir(segment)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let name = file_name.to_str().and_then(|name| {
            name.strip_prefix("vector_storage-").or_else(|| name.strip_prefix("vector_index-"))
        });
        if name.is_some_and(|name| !schema.knows(name)) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
