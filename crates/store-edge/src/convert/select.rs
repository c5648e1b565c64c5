use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    Direction, OrderBy, StartFrom, VectorsSelector, WithPayloadSelector, WithVectorsSelector, start_from,
    with_payload_selector, with_vectors_selector,
};
use qdrant_edge::{
    DateTimeWrapper, Direction as EngineDirection, JsonPath, OrderBy as EngineOrderBy, PayloadSelector,
    StartFrom as EngineStartFrom, WithPayloadInterface, WithVector,
};

use super::schema::Schema;
use crate::refuse::rejected;

pub(crate) fn path_to_engine(field: &str, path: &str) -> Result<JsonPath, StoreError> {
    path.parse().map_err(|()| rejected(field, format_args!("{path:?} is not a payload path")))
}

fn paths_to_engine(field: &str, paths: Vec<String>) -> Result<Vec<JsonPath>, StoreError> {
    paths.iter().map(|path| path_to_engine(field, path)).collect()
}

/// `default` is what an absent selector means for the request at hand.
pub(crate) fn payload_selector(
    selector: Option<WithPayloadSelector>,
    default: bool,
) -> Result<WithPayloadInterface, StoreError> {
    use with_payload_selector::SelectorOptions;
    Ok(match selector.and_then(|selector| selector.selector_options) {
        None => WithPayloadInterface::Bool(default),
        Some(SelectorOptions::Enable(enable)) => WithPayloadInterface::Bool(enable),
        Some(SelectorOptions::Include(include)) => WithPayloadInterface::Selector(
            PayloadSelector::new_include(paths_to_engine("with_payload.include", include.fields)?),
        ),
        Some(SelectorOptions::Exclude(exclude)) => WithPayloadInterface::Selector(
            PayloadSelector::new_exclude(paths_to_engine("with_payload.exclude", exclude.fields)?),
        ),
    })
}

pub(crate) fn vectors_selector(
    selector: Option<WithVectorsSelector>,
    schema: &Schema,
) -> Result<WithVector, StoreError> {
    use with_vectors_selector::SelectorOptions;
    Ok(match selector.and_then(|selector| selector.selector_options) {
        None => WithVector::Bool(false),
        Some(SelectorOptions::Enable(enable)) => WithVector::Bool(enable),
        Some(SelectorOptions::Include(VectorsSelector { names })) => {
            for name in &names {
                schema.check_known("with_vectors.include", name)?;
            }
            WithVector::Selector(names)
        }
    })
}

pub(crate) fn order_by(order: OrderBy) -> Result<EngineOrderBy, StoreError> {
    let OrderBy { key, direction, start_from } = order;
    let direction = match direction.map(Direction::try_from) {
        None => None,
        Some(Ok(Direction::Asc)) => Some(EngineDirection::Asc),
        Some(Ok(Direction::Desc)) => Some(EngineDirection::Desc),
        Some(Err(_)) => return Err(rejected("order_by.direction", "unknown")),
    };
    Ok(EngineOrderBy {
        key: path_to_engine("order_by.key", &key)?,
        direction,
        start_from: start_from.map(start_from_to_engine).transpose()?,
    })
}

fn start_from_to_engine(start: StartFrom) -> Result<EngineStartFrom, StoreError> {
    Ok(match start.value {
        Some(start_from::Value::Integer(integer)) => EngineStartFrom::Integer(integer),
        Some(start_from::Value::Float(float)) => EngineStartFrom::Float(float),
        Some(start_from::Value::Timestamp(timestamp)) => {
            EngineStartFrom::Datetime(datetime("order_by.start_from", &timestamp.to_string())?)
        }
        Some(start_from::Value::Datetime(text)) => {
            EngineStartFrom::Datetime(datetime("order_by.start_from", &text)?)
        }
        None => return Err(rejected("order_by.start_from", "has no value")),
    })
}

/// `text`: RFC 3339, which is also how a protobuf timestamp prints.
pub(crate) fn datetime(field: &str, text: &str) -> Result<DateTimeWrapper, StoreError> {
    text.parse().map_err(|error| rejected(field, format_args!("{text:?} is not a time: {error}")))
}
