use hindsight_ports::StoreError;
use prost_types::Timestamp;
use qdrant_client::qdrant::{
    Condition, DatetimeRange, FieldCondition, Filter, HasIdCondition, HasVectorCondition, IsEmptyCondition,
    IsNullCondition, Match, MinShould, NestedCondition, Range, ValuesCount, condition::ConditionOneOf,
    r#match::MatchValue as Matched,
};
use qdrant_edge::{
    AnyVariants, Condition as EngineCondition, FieldCondition as EngineField, Filter as EngineFilter,
    HasIdCondition as EngineHasId, HasVectorCondition as EngineHasVector, IsEmptyCondition as EngineIsEmpty,
    IsNullCondition as EngineIsNull, JsonPath, Match as EngineMatch, MatchAny, MatchPhrase, MatchText,
    MatchTextAny, MatchValue, MinShould as EngineMinShould, Nested, NestedCondition as EngineNested,
    PointId as EngineId, Range as EngineRange, RangeInterface, ValueVariants,
    ValuesCount as EngineValuesCount, external::ordered_float::OrderedFloat,
};

use super::{
    point::ids_to_engine,
    select::{datetime, path_to_engine},
};
use crate::refuse::{refuse, rejected, unsupported};

/// Filters nested deeper than this are refused, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 32;

pub(crate) fn filter_to_engine(filter: Option<Filter>) -> Result<Option<EngineFilter>, StoreError> {
    filter.map(|filter| filter_at(filter, 0)).transpose()
}

/// Only the points of `filter` that are among `ids`.
pub(crate) fn among(ids: &[EngineId], filter: Option<EngineFilter>) -> EngineFilter {
    let has_id = EngineCondition::HasId(ids.iter().copied().collect::<EngineHasId>());
    let must = [Some(has_id), filter.map(EngineCondition::Filter)];
    EngineFilter { must: Some(must.into_iter().flatten().collect()), ..EngineFilter::default() }
}

fn filter_at(filter: Filter, depth: usize) -> Result<EngineFilter, StoreError> {
    if depth > MAX_DEPTH {
        return Err(rejected("filter", format_args!("nested deeper than {MAX_DEPTH} levels")));
    }
    let Filter { should, must, must_not, min_should } = filter;
    let filter = EngineFilter {
        should: some_conditions(should, depth)?,
        must: some_conditions(must, depth)?,
        must_not: some_conditions(must_not, depth)?,
        min_should: min_should.map(|min_should| min_should_at(min_should, depth)).transpose()?,
    };
    // The engine looks up what must hold in an index, takes it off the conditions it still has to check, and
    // takes it off what must not hold as well.
    Ok(if contradicts_itself(&filter) { nothing() } else { filter })
}

fn contradicts_itself(filter: &EngineFilter) -> bool {
    let not: Vec<&EngineCondition> = filter.must_not.iter().flatten().collect();
    filter.must.iter().flatten().any(|c| not.contains(&c))
}

/// Matches no point.
fn nothing() -> EngineFilter {
    let no_id = EngineCondition::HasId(std::iter::empty::<EngineId>().collect::<EngineHasId>());
    EngineFilter { must: Some(vec![no_id]), ..EngineFilter::default() }
}

fn min_should_at(min_should: MinShould, depth: usize) -> Result<EngineMinShould, StoreError> {
    let MinShould { conditions, min_count } = min_should;
    Ok(EngineMinShould {
        conditions: conditions_at(conditions, depth)?,
        min_count: size("filter.min_should.min_count", min_count)?,
    })
}

fn some_conditions(
    conditions: Vec<Condition>,
    depth: usize,
) -> Result<Option<Vec<EngineCondition>>, StoreError> {
    if conditions.is_empty() { Ok(None) } else { conditions_at(conditions, depth).map(Some) }
}

fn conditions_at(conditions: Vec<Condition>, depth: usize) -> Result<Vec<EngineCondition>, StoreError> {
    conditions.into_iter().map(|condition| condition_at(condition, depth)).collect()
}

fn condition_at(condition: Condition, depth: usize) -> Result<EngineCondition, StoreError> {
    let missing = || rejected("filter", "a condition has nothing in it");
    Ok(match condition.condition_one_of.ok_or_else(missing)? {
        ConditionOneOf::Field(field) => EngineCondition::Field(field_to_engine(field)?),
        ConditionOneOf::IsEmpty(IsEmptyCondition { key }) => {
            EngineCondition::IsEmpty(EngineIsEmpty::from(path(&key)?))
        }
        ConditionOneOf::IsNull(IsNullCondition { key }) => {
            EngineCondition::IsNull(EngineIsNull::from(path(&key)?))
        }
        ConditionOneOf::HasId(HasIdCondition { has_id }) => {
            EngineCondition::HasId(ids_to_engine(has_id)?.into_iter().collect::<EngineHasId>())
        }
        ConditionOneOf::HasVector(HasVectorCondition { has_vector }) => {
            EngineCondition::HasVector(EngineHasVector::from(has_vector))
        }
        ConditionOneOf::Filter(filter) => EngineCondition::Filter(filter_at(filter, depth + 1)?),
        ConditionOneOf::Nested(NestedCondition { key, filter }) => {
            let filter = filter.ok_or_else(|| rejected("filter.nested.filter", "missing"))?;
            EngineCondition::Nested(EngineNested::new(Nested {
                key: path(&key)?,
                filter: filter_at(filter, depth + 1)?,
            }))
        }
        ConditionOneOf::Slice(_) => return Err(unsupported("filter.slice")),
    })
}

fn field_to_engine(condition: FieldCondition) -> Result<EngineField, StoreError> {
    let FieldCondition {
        key,
        r#match,
        range,
        geo_bounding_box,
        geo_radius,
        values_count,
        geo_polygon,
        datetime_range,
        is_empty,
        is_null,
    } = condition;
    refuse(
        "filter.field",
        &[
            ("geo_bounding_box", geo_bounding_box.is_some()),
            ("geo_radius", geo_radius.is_some()),
            ("geo_polygon", geo_polygon.is_some()),
        ],
    )?;
    let range = match (range, datetime_range) {
        (None, None) => None,
        (Some(range), None) => Some(RangeInterface::Float(number_range(range))),
        (None, Some(range)) => Some(RangeInterface::DateTime(time_range(range)?)),
        (Some(_), Some(_)) => {
            return Err(rejected("filter.field.datetime_range", "cannot be combined with range"));
        }
    };
    let field = EngineField {
        key: path(&key)?,
        r#match: r#match.map(match_to_engine).transpose()?,
        range,
        geo_bounding_box: None,
        geo_radius: None,
        geo_polygon: None,
        values_count: values_count.map(values_count_to_engine).transpose()?,
        is_empty,
        is_null,
    };
    if field.all_fields_none() {
        return Err(rejected("filter.field", format_args!("no condition on {key:?}")));
    }
    Ok(field)
}

fn match_to_engine(condition: Match) -> Result<EngineMatch, StoreError> {
    let value = |value| EngineMatch::Value(MatchValue { value });
    let any = |any| EngineMatch::Any(MatchAny { any });
    let missing = || rejected("filter.field.match", "has no value");
    Ok(match condition.match_value.ok_or_else(missing)? {
        Matched::Keyword(keyword) => value(ValueVariants::String(keyword)),
        Matched::Integer(integer) => value(ValueVariants::Integer(integer)),
        Matched::Boolean(flag) => value(ValueVariants::Bool(flag)),
        Matched::Keywords(list) => any(AnyVariants::Strings(list.strings.into_iter().collect())),
        Matched::Integers(list) => any(AnyVariants::Integers(list.integers.into_iter().collect())),
        // The engine (0.7.2) estimates these wrongly when a value of the list is nowhere in the index, and
        // asserts that it does not.
        Matched::ExceptKeywords(_) | Matched::ExceptIntegers(_) => {
            return Err(rejected("filter.field.match.except", "not supported here; use must_not"));
        }
        Matched::Text(text) => EngineMatch::Text(MatchText { text }),
        Matched::TextAny(text_any) => EngineMatch::TextAny(MatchTextAny { text_any }),
        Matched::Phrase(phrase) => EngineMatch::Phrase(MatchPhrase { phrase }),
        Matched::Prefix(_) => return Err(unsupported("filter.field.match.prefix")),
        Matched::Substring(_) => return Err(unsupported("filter.field.match.substring")),
    })
}

fn number_range(range: Range) -> EngineRange<OrderedFloat<f64>> {
    let Range { lt, gt, gte, lte } = range;
    EngineRange {
        lt: lt.map(OrderedFloat),
        gt: gt.map(OrderedFloat),
        gte: gte.map(OrderedFloat),
        lte: lte.map(OrderedFloat),
    }
}

fn time_range(range: DatetimeRange) -> Result<EngineRange<qdrant_edge::DateTimeWrapper>, StoreError> {
    let DatetimeRange { lt, gt, gte, lte } = range;
    let bound = |bound: Option<Timestamp>| {
        bound.map(|at| datetime("filter.field.datetime_range", &at.to_string())).transpose()
    };
    Ok(EngineRange { lt: bound(lt)?, gt: bound(gt)?, gte: bound(gte)?, lte: bound(lte)? })
}

fn values_count_to_engine(count: ValuesCount) -> Result<EngineValuesCount, StoreError> {
    let ValuesCount { lt, gt, gte, lte } = count;
    let bound = |bound: Option<u64>| bound.map(|n| size("filter.field.values_count", n)).transpose();
    Ok(EngineValuesCount { lt: bound(lt)?, gt: bound(gt)?, gte: bound(gte)?, lte: bound(lte)? })
}

fn size(field: &str, value: u64) -> Result<usize, StoreError> {
    usize::try_from(value).map_err(|_| rejected(field, format_args!("{value} is too large")))
}

fn path(key: &str) -> Result<JsonPath, StoreError> {
    path_to_engine("filter.key", key)
}
