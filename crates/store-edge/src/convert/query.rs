use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    DenseVector, Fusion, PrefetchQuery, Query, QueryPoints, Rrf, SearchParams, VectorInput, query,
    vector_input,
};
use qdrant_edge::{
    Fusion as EngineFusion, NamedQuery, Prefetch, QueryEnum, QueryRequest, ScoringQuery,
    SearchParams as EngineParams, VectorInternal, external::ordered_float::OrderedFloat,
};

use super::{
    filter::filter_to_engine,
    point::sparse_to_engine,
    schema::Schema,
    select::{order_by, payload_selector, vectors_selector},
};
use crate::refuse::{bounded, refuse, rejected, unsupported};

/// Most points that one request may ask for.
pub(crate) const MAX_LIMIT: u64 = 100_000;
/// Qdrant's default page.
pub(crate) const DEFAULT_LIMIT: u64 = 10;
/// Qdrant's constant of reciprocal rank fusion.
const DEFAULT_RRF_K: u32 = 2;
/// Prefetches nested deeper than this are refused.
const MAX_DEPTH: usize = 8;

pub(crate) fn query_to_engine(request: QueryPoints, schema: &Schema) -> Result<QueryRequest, StoreError> {
    let QueryPoints {
        collection_name: _,
        prefetch,
        query,
        using,
        filter,
        params,
        score_threshold,
        limit,
        offset,
        with_vectors,
        with_payload,
        // One copy of the data satisfies every level of consistency.
        read_consistency: _,
        shard_key_selector,
        lookup_from,
        timeout,
    } = request;
    refuse(
        "query",
        &[
            ("shard_key_selector", shard_key_selector.is_some()),
            ("lookup_from", lookup_from.is_some()),
            ("timeout", timeout.is_some()),
        ],
    )?;
    let offset = offset.unwrap_or_default();
    if offset > MAX_LIMIT {
        return Err(rejected("query.offset", format_args!("{offset} is more than {MAX_LIMIT}")));
    }
    Ok(QueryRequest {
        query: scoring(query, using, prefetch.len(), schema)?,
        prefetches: prefetches(prefetch, schema, 1)?,
        filter: filter_to_engine(filter)?,
        score_threshold: score_threshold.map(OrderedFloat),
        limit: bounded("query.limit", limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?,
        offset: usize::try_from(offset).unwrap_or(usize::MAX),
        params: params.map(params_to_engine).transpose()?,
        with_vector: vectors_selector(with_vectors, schema)?,
        with_payload: payload_selector(with_payload, false)?,
    })
}

fn prefetches(
    prefetch: Vec<PrefetchQuery>,
    schema: &Schema,
    depth: usize,
) -> Result<Vec<Prefetch>, StoreError> {
    if depth > MAX_DEPTH {
        return Err(rejected("query.prefetch", format_args!("nested deeper than {MAX_DEPTH} levels")));
    }
    prefetch.into_iter().map(|one| prefetch_to_engine(one, schema, depth)).collect()
}

fn prefetch_to_engine(one: PrefetchQuery, schema: &Schema, depth: usize) -> Result<Prefetch, StoreError> {
    let PrefetchQuery { prefetch, query, using, filter, params, score_threshold, limit, lookup_from } = one;
    refuse("query.prefetch", &[("lookup_from", lookup_from.is_some())])?;
    Ok(Prefetch {
        query: scoring(query, using, prefetch.len(), schema)?,
        prefetches: prefetches(prefetch, schema, depth + 1)?,
        limit: bounded("query.prefetch.limit", limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?,
        params: params.map(params_to_engine).transpose()?,
        filter: filter_to_engine(filter)?,
        score_threshold: score_threshold.map(OrderedFloat),
    })
}

fn scoring(
    query: Option<Query>,
    using: Option<String>,
    prefetches: usize,
    schema: &Schema,
) -> Result<Option<ScoringQuery>, StoreError> {
    use query::Variant;
    let Some(query) = query else {
        refuse("query", &[("using", using.is_some())])?;
        if prefetches > 0 {
            return Err(rejected("query.query", "missing; a prefetch needs a query that merges it"));
        }
        return Ok(None);
    };
    let variant = query.variant.ok_or_else(|| rejected("query.query", "has nothing in it"))?;
    let fusing = matches!(variant, Variant::Fusion(_) | Variant::Rrf(_));
    if fusing && prefetches == 0 {
        return Err(rejected("query.prefetch", "missing; fusion merges prefetches"));
    }
    if !matches!(variant, Variant::Nearest(_)) {
        refuse("query", &[("using", using.is_some())])?;
    }
    Ok(Some(match variant {
        Variant::Nearest(input) => nearest(input, using.unwrap_or_default(), schema)?,
        Variant::OrderBy(order) => ScoringQuery::OrderBy(order_by(order)?),
        Variant::Fusion(fusion) => match Fusion::try_from(fusion) {
            Ok(Fusion::Rrf) => rrf(Rrf { k: None, weights: Vec::new() }, prefetches)?,
            Ok(Fusion::Dbsf) => ScoringQuery::Fusion(EngineFusion::Dbsf),
            Err(_) => return Err(rejected("query.fusion", format_args!("{fusion} is unknown"))),
        },
        Variant::Rrf(params) => rrf(params, prefetches)?,
        Variant::Recommend(_) => return Err(unsupported("query.recommend")),
        Variant::Discover(_) => return Err(unsupported("query.discover")),
        Variant::Context(_) => return Err(unsupported("query.context")),
        Variant::Sample(_) => return Err(unsupported("query.sample")),
        Variant::Formula(_) => return Err(unsupported("query.formula")),
        Variant::NearestWithMmr(_) => return Err(unsupported("query.nearest_with_mmr")),
        Variant::RelevanceFeedback(_) => return Err(unsupported("query.relevance_feedback")),
        Variant::Text(_) => return Err(unsupported("query.text")),
    }))
}

fn rrf(params: Rrf, prefetches: usize) -> Result<ScoringQuery, StoreError> {
    let Rrf { k, weights } = params;
    if !weights.is_empty() && weights.len() != prefetches {
        return Err(rejected(
            "query.rrf.weights",
            format_args!("{} weights for {prefetches} prefetches", weights.len()),
        ));
    }
    let k = bounded("query.rrf.k", u64::from(k.unwrap_or(DEFAULT_RRF_K)), u64::from(u32::MAX))?;
    let weights = (!weights.is_empty()).then(|| weights.into_iter().map(OrderedFloat).collect());
    Ok(ScoringQuery::Fusion(EngineFusion::Rrf { k, weights }))
}

fn nearest(input: VectorInput, using: String, schema: &Schema) -> Result<ScoringQuery, StoreError> {
    use vector_input::Variant;
    let field = "query.nearest";
    let vector = match input.variant.ok_or_else(|| rejected(field, "has nothing in it"))? {
        Variant::Dense(DenseVector { data }) => {
            schema.check_dense(field, &using, &data)?;
            VectorInternal::Dense(data)
        }
        Variant::Sparse(sparse) => {
            schema.check_sparse(field, &using)?;
            VectorInternal::Sparse(sparse_to_engine(field, sparse)?)
        }
        Variant::Id(_) => return Err(unsupported("query.nearest.id")),
        Variant::MultiDense(_) => return Err(unsupported("query.nearest.multi_dense")),
        Variant::Document(_) => return Err(unsupported("query.nearest.document")),
        Variant::Image(_) => return Err(unsupported("query.nearest.image")),
        Variant::Object(_) => return Err(unsupported("query.nearest.object")),
    };
    Ok(ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery::new(vector, using))))
}

fn params_to_engine(params: SearchParams) -> Result<EngineParams, StoreError> {
    let SearchParams { hnsw_ef, exact, quantization, indexed_only, acorn, idf } = params;
    refuse(
        "query.params",
        &[("quantization", quantization.is_some()), ("acorn", acorn.is_some()), ("idf", idf.is_some())],
    )?;
    Ok(EngineParams {
        hnsw_ef: hnsw_ef.map(|ef| bounded("query.params.hnsw_ef", ef, MAX_LIMIT)).transpose()?,
        exact: exact.unwrap_or_default(),
        quantization: None,
        indexed_only: indexed_only.unwrap_or_default(),
        acorn: None,
    })
}
