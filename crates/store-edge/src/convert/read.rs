use hindsight_ports::StoreError;
use hindsight_store::Scrolled;
use qdrant_client::qdrant::{CountPoints, FacetCounts, FacetHit, FacetValue, ScrollPoints, facet_value};
use qdrant_edge::{
    CountRequest, FacetRequest, FacetResponse, FacetValue as EngineFacetValue, OrderByInterface, PointId,
    Record, ScrollRequest,
};
use uuid::Uuid;

use super::{
    filter::filter_to_engine,
    point::{id_from_engine, id_to_engine, record_from_engine},
    query::{DEFAULT_LIMIT, MAX_LIMIT},
    schema::Schema,
    select::{order_by, path_to_engine, payload_selector, vectors_selector},
};
use crate::refuse::{bounded, refuse};

pub(crate) fn scroll_to_engine(request: ScrollPoints, schema: &Schema) -> Result<ScrollRequest, StoreError> {
    let ScrollPoints {
        collection_name: _,
        filter,
        offset,
        limit,
        with_payload,
        with_vectors,
        read_consistency: _,
        shard_key_selector,
        order_by: order,
        timeout,
    } = request;
    refuse(
        "scroll",
        &[
            ("shard_key_selector", shard_key_selector.is_some()),
            ("timeout", timeout.is_some()),
            ("offset together with order_by", offset.is_some() && order.is_some()),
        ],
    )?;
    let limit = limit.map_or(DEFAULT_LIMIT, u64::from);
    Ok(ScrollRequest {
        offset: offset.map(id_to_engine).transpose()?,
        limit: Some(bounded("scroll.limit", limit, MAX_LIMIT)?),
        filter: filter_to_engine(filter)?,
        with_payload: Some(payload_selector(with_payload, true)?),
        with_vector: vectors_selector(with_vectors, schema)?,
        order_by: order.map(order_by).transpose()?.map(OrderByInterface::Struct),
    })
}

pub(crate) fn scrolled_from_engine((records, next): (Vec<Record>, Option<PointId>)) -> Scrolled {
    Scrolled { points: records.into_iter().map(record_from_engine).collect(), next: next.map(id_from_engine) }
}

pub(crate) fn count_to_engine(request: CountPoints) -> Result<CountRequest, StoreError> {
    let CountPoints { collection_name: _, filter, exact, read_consistency: _, shard_key_selector, timeout } =
        request;
    refuse("count", &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())])?;
    Ok(CountRequest { filter: filter_to_engine(filter)?, exact: exact.unwrap_or(true) })
}

pub(crate) fn facet_to_engine(request: FacetCounts) -> Result<FacetRequest, StoreError> {
    let FacetCounts {
        collection_name: _,
        key,
        filter,
        limit,
        exact,
        timeout,
        read_consistency: _,
        shard_key_selector,
    } = request;
    refuse("facet", &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())])?;
    Ok(FacetRequest {
        key: path_to_engine("facet.key", &key)?,
        limit: bounded("facet.limit", limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?,
        filter: filter_to_engine(filter)?,
        exact: exact.unwrap_or_default(),
    })
}

pub(crate) fn facet_from_engine(response: FacetResponse) -> Vec<FacetHit> {
    let hit = |(value, count): (EngineFacetValue, usize)| {
        let variant = match value {
            EngineFacetValue::Keyword(keyword) => facet_value::Variant::StringValue(keyword),
            EngineFacetValue::Int(integer) => facet_value::Variant::IntegerValue(integer),
            EngineFacetValue::Uuid(uuid) => {
                facet_value::Variant::StringValue(Uuid::from_u128(uuid).to_string())
            }
            EngineFacetValue::Bool(flag) => facet_value::Variant::BoolValue(flag),
        };
        FacetHit { value: Some(FacetValue { variant: Some(variant) }), count: count as u64 }
    };
    response.hits.into_iter().map(|found| hit((found.value, found.count))).collect()
}
