//! Changes of the named vectors of a collection that is there. `on_disk` is deprecated in the protocol, not gone from
//! it: what it asks for is honoured.
#![allow(deprecated)]

use std::collections::HashMap;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    CreateCollection, CreateVectorNameRequest, DenseVectorCreationConfig, SparseVectorConfig,
    SparseVectorCreationConfig, SparseVectorParams, VectorParams, VectorParamsMap, VectorsConfig,
    create_vector_name_request::VectorConfig, vectors_config,
};
use qdrant_edge::{
    CreateVectorName, DeleteVectorName, DenseVectorConfig, EdgeConfig, SparseVectorConfig as EngineSparse,
    UpdateOperation, VectorNameConfig, VectorNameOperations,
};

use crate::refuse::{refuse, rejected};

const MESSAGE: &str = "create_vector_name";

/// `created` as if it had asked for the new vector from the first.
pub(crate) fn with_vector(
    created: &CreateCollection,
    request: &CreateVectorNameRequest,
) -> Result<CreateCollection, StoreError> {
    let CreateVectorNameRequest {
        collection_name: _,
        // Every write is durable and in order when it returns.
        wait: _,
        ordering: _,
        vector_name,
        timeout,
        vector_config,
    } = request;
    refuse(MESSAGE, &[("timeout", timeout.is_some())])?;
    // A name becomes a directory's.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if vector_name.is_empty() || vector_name.len() > 64 || !vector_name.chars().all(plain) {
        let problem = format_args!("{vector_name:?} must have 1 to 64 of a-z, A-Z, 0-9, _ and -");
        return Err(rejected("create_vector_name.vector_name", problem));
    }
    let mut created = created.clone();
    match *vector_config {
        Some(VectorConfig::DenseConfig(DenseVectorCreationConfig {
            size,
            distance,
            multivector_config,
            datatype,
        })) => {
            edit_dense(&mut created, |dense| {
                // The message does not say where vectors lie; they lie where the others do.
                let on_disk = dense.values().find_map(|other| other.on_disk);
                let params = VectorParams {
                    size,
                    distance,
                    multivector_config,
                    datatype,
                    on_disk,
                    ..VectorParams::default()
                };
                dense.extend([(vector_name.clone(), params)]);
            });
        }
        Some(VectorConfig::SparseConfig(SparseVectorCreationConfig { modifier, datatype })) => {
            refuse(MESSAGE, &[("sparse_config.datatype", datatype.is_some())])?;
            let params = SparseVectorParams { modifier, ..SparseVectorParams::default() };
            sparse_mut(&mut created).insert(vector_name.clone(), params);
        }
        None => return Err(rejected("create_vector_name.vector_config", "missing")),
    }
    Ok(created)
}

/// `created` as if it had never asked for the vector.
pub(crate) fn without_vector(created: &CreateCollection, name: &str) -> CreateCollection {
    let mut created = created.clone();
    edit_dense(&mut created, |dense| dense.retain(|known, _| known != name));
    sparse_mut(&mut created).remove(name);
    created
}

fn edit_dense(created: &mut CreateCollection, edit: impl FnOnce(&mut HashMap<String, VectorParams>)) {
    let mut map = match created.vectors_config.take().and_then(|vectors| vectors.config) {
        Some(vectors_config::Config::ParamsMap(map)) => map,
        // Vectors without a name are refused when a collection is created.
        Some(vectors_config::Config::Params(_)) | None => VectorParamsMap::default(),
    };
    edit(&mut map.map);
    created.vectors_config = Some(VectorsConfig { config: Some(vectors_config::Config::ParamsMap(map)) });
}

fn sparse_mut(created: &mut CreateCollection) -> &mut HashMap<String, SparseVectorParams> {
    &mut created.sparse_vectors_config.get_or_insert_with(SparseVectorConfig::default).map
}

/// The operation that gives the shard the vector `name` as `config` has it. `None`: it has none of that name.
pub(crate) fn creation(config: &EdgeConfig, name: &str) -> Option<UpdateOperation> {
    let dense = config.vectors.get(name).map(|params| {
        VectorNameConfig::dense(DenseVectorConfig {
            size: params.size,
            distance: params.distance,
            multivector_config: None,
            datatype: None,
        })
    });
    let sparse = config
        .sparse_vectors
        .get(name)
        .map(|params| VectorNameConfig::sparse(EngineSparse { modifier: params.modifier, datatype: None }));
    let create = CreateVectorName { vector_name: name.to_owned(), config: dense.or(sparse)? };
    Some(UpdateOperation::VectorNameOperation(VectorNameOperations::CreateVectorName(create)))
}

pub(crate) fn deletion(name: &str) -> UpdateOperation {
    let delete = DeleteVectorName { vector_name: name.to_owned() };
    UpdateOperation::VectorNameOperation(VectorNameOperations::DeleteVectorName(delete))
}
