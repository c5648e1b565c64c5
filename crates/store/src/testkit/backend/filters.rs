use std::collections::BTreeSet;

use qdrant_client::qdrant::{
    Condition, CreateFieldIndexCollection, DatetimeRange, FieldCondition, FieldType, Filter, HasIdCondition,
    IsEmptyCondition, IsNullCondition, MinShould, NestedCondition, PayloadIndexParams, Range,
    RepeatedIntegers, RepeatedStrings, TextIndexParams, TokenizerType, ValuesCount,
    condition::ConditionOneOf, r#match::MatchValue, payload_index_params::IndexParams,
};

use super::build::*;

/// Runs every table of conditions against the same six points.
async fn library(backend: &Backend, case: &str) -> String {
    let name = plain_collection(backend, case).await;
    let nested = |a: &str, b: i64| object([("tool", text(a)), ("count", int(b))]);
    let points = vec![
        point(1, [("kind", text("lesson")), ("n", int(1)), ("score", float(0.5)), ("ok", flag(true))]),
        point(2, [("kind", text("lesson")), ("n", int(2)), ("score", float(1.5)), ("ok", flag(false))]),
        point(3, [("kind", text("事实")), ("n", int(3)), ("tags", list([text("a"), text("b")]))]),
        point(4, [("kind", text("事实")), ("n", int(4)), ("tags", list([text("b")])), ("note", null())]),
        point(5, [("kind", text("experience")), ("n", int(5)), ("tags", list([]))]),
        point(
            6,
            [
                ("kind", text("experience")),
                ("n", int(-6)),
                ("deep", object([("er", text("x"))])),
                ("uses", list([nested("sh", 1), nested("py", 5)])),
            ],
        ),
    ];
    write(backend, &name, points).await;
    name
}

fn strings<const N: usize>(values: [&str; N]) -> RepeatedStrings {
    RepeatedStrings { strings: values.map(str::to_owned).to_vec() }
}

fn conditions() -> Vec<(Condition, Vec<u64>)> {
    let int_range = |lower: f64, upper: f64| Range { gt: Some(lower), lte: Some(upper), ..Range::default() };
    let on =
        |key: &str, condition: FieldCondition| field(FieldCondition { key: key.to_owned(), ..condition });
    let count = |gte| ValuesCount { gte: Some(gte), ..ValuesCount::default() };
    let tool = must([keyword("tool", "py"), range("count", Range { gte: Some(5.0), ..Range::default() })]);
    let crossed = must([keyword("tool", "sh"), range("count", Range { gte: Some(5.0), ..Range::default() })]);
    let nested = |filter| {
        condition(ConditionOneOf::Nested(NestedCondition { key: "uses".to_owned(), filter: Some(filter) }))
    };
    vec![
        (keyword("kind", "lesson"), vec![1, 2]),
        (keyword("kind", "事实"), vec![3, 4]),
        (keyword("kind", "les"), vec![]),
        (keyword("tags", "b"), vec![3, 4]),
        (keyword("deep.er", "x"), vec![6]),
        (matches("n", MatchValue::Integer(2)), vec![2]),
        (matches("n", MatchValue::Integer(-6)), vec![6]),
        (matches("ok", MatchValue::Boolean(true)), vec![1]),
        (matches("kind", MatchValue::Keywords(strings(["lesson", "事实"]))), vec![1, 2, 3, 4]),
        (matches("kind", MatchValue::Keywords(strings([]))), vec![]),
        (matches("n", MatchValue::Integers(RepeatedIntegers { integers: vec![1, 5, 7] })), vec![1, 5]),
        (range("n", int_range(1.0, 4.0)), vec![2, 3, 4]),
        (range("score", Range { lt: Some(1.0), ..Range::default() }), vec![1]),
        (condition(ConditionOneOf::HasId(HasIdCondition { has_id: vec![id(2), id(5), id(77)] })), vec![2, 5]),
        (condition(ConditionOneOf::IsEmpty(IsEmptyCondition { key: "tags".to_owned() })), vec![1, 2, 5, 6]),
        (
            condition(ConditionOneOf::IsEmpty(IsEmptyCondition { key: "note".to_owned() })),
            vec![1, 2, 3, 4, 5, 6],
        ),
        (condition(ConditionOneOf::IsNull(IsNullCondition { key: "note".to_owned() })), vec![4]),
        (on("tags", FieldCondition { values_count: Some(count(2)), ..FieldCondition::default() }), vec![3]),
        (nested(tool), vec![6]),
        (nested(crossed), vec![]),
    ]
}

pub async fn filters_by_every_condition(backend: Backend) {
    let name = library(&backend, "conditions").await;
    for (condition, expected) in conditions() {
        let found = found(&backend, &name, must([condition.clone()])).await;
        assert_eq!(found, BTreeSet::from_iter(expected), "{condition:?}");
    }
}

pub async fn filters_alike_with_and_without_an_index(backend: Backend) {
    let name = library(&backend, "indexed").await;
    let mut before = Vec::new();
    for (condition, _) in conditions() {
        before.push(found(&backend, &name, must([condition])).await);
    }
    let kinds = [
        ("kind", FieldType::Keyword),
        ("tags", FieldType::Keyword),
        ("n", FieldType::Integer),
        ("score", FieldType::Float),
        ("ok", FieldType::Bool),
        ("deep.er", FieldType::Keyword),
    ];
    for (field, kind) in kinds {
        index(&backend, &name, field, kind).await;
    }
    for ((condition, _), before) in conditions().into_iter().zip(before) {
        assert_eq!(found(&backend, &name, must([condition.clone()])).await, before, "{condition:?}");
    }
}

pub async fn combines_conditions(backend: Backend) {
    let name = library(&backend, "combined").await;
    let lesson = || keyword("kind", "lesson");
    let above = |n: f64| range("n", Range { gt: Some(n), ..Range::default() });
    let tagged = || keyword("tags", "b");
    let nested = |filter| condition(ConditionOneOf::Filter(filter));
    let cases = [
        (Filter::default(), vec![1, 2, 3, 4, 5, 6]),
        (must([lesson(), above(1.0)]), vec![2]),
        (Filter { should: vec![lesson(), tagged()], ..Filter::default() }, vec![1, 2, 3, 4]),
        (Filter { must_not: vec![lesson(), tagged()], ..Filter::default() }, vec![5, 6]),
        (Filter { must: vec![above(0.0)], must_not: vec![lesson()], ..Filter::default() }, vec![3, 4, 5]),
        (
            Filter { must: vec![above(1.0)], should: vec![lesson(), above(4.0)], ..Filter::default() },
            vec![2, 5],
        ),
        (
            Filter {
                min_should: Some(MinShould {
                    conditions: vec![above(0.0), above(2.0), tagged()],
                    min_count: 2,
                }),
                ..Filter::default()
            },
            vec![3, 4, 5],
        ),
        (
            must([nested(Filter { should: vec![lesson(), tagged()], ..Filter::default() }), above(1.0)]),
            vec![2, 3, 4],
        ),
        (
            Filter { must_not: vec![nested(must([lesson(), above(1.0)]))], ..Filter::default() },
            vec![1, 3, 4, 5, 6],
        ),
        // What contradicts itself matches nothing, on one level or over several.
        (Filter { must: vec![lesson()], must_not: vec![lesson()], ..Filter::default() }, vec![]),
        (must([lesson(), nested(Filter { must_not: vec![lesson()], ..Filter::default() })]), vec![]),
        (
            Filter { must: vec![nested(must([lesson()]))], must_not: vec![lesson()], ..Filter::default() },
            vec![],
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(&backend, &name, filter.clone()).await, BTreeSet::from_iter(expected), "{filter:?}");
    }
}

pub async fn filters_times(backend: Backend) {
    let name = plain_collection(&backend, "times").await;
    let times = ["2026-01-31T23:59:59Z", "2026-02-01T08:00:00+08:00", "2026-02-01T00:00:00.000001Z"];
    let points = times.iter().zip(1..).map(|(at, n)| point(n, [("at", text(at))]));
    write(&backend, &name, points.collect()).await;
    let february = DatetimeRange { gte: Some(second(1_769_904_000)), ..DatetimeRange::default() };
    let later = DatetimeRange { gt: Some(second(1_769_904_000)), ..DatetimeRange::default() };
    let on = |range| {
        let at = "at".to_owned();
        must([field(FieldCondition { key: at, datetime_range: Some(range), ..FieldCondition::default() })])
    };
    for indexed in [false, true] {
        if indexed {
            index(&backend, &name, "at", FieldType::Datetime).await;
        }
        assert_eq!(found(&backend, &name, on(february)).await, BTreeSet::from([2, 3]), "indexed: {indexed}");
        assert_eq!(found(&backend, &name, on(later)).await, BTreeSet::from([3]), "indexed: {indexed}");
    }
}

fn second(seconds: i64) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds, nanos: 0 }
}

#[allow(clippy::expect_used)]
pub async fn filters_text(backend: Backend) {
    let name = plain_collection(&backend, "text").await;
    let texts = ["The disk of node seven is full", "磁盘 已满，请 清理", "Nothing to see"];
    let points = texts.iter().zip(1..).map(|(words, n)| point(n, [("words", text(words))]));
    write(&backend, &name, points.collect()).await;
    let params = TextIndexParams {
        tokenizer: TokenizerType::Word as i32,
        lowercase: Some(true),
        phrase_matching: Some(true),
        ..TextIndexParams::default()
    };
    let request = CreateFieldIndexCollection {
        collection_name: name.clone(),
        wait: Some(true),
        field_name: "words".to_owned(),
        field_type: Some(FieldType::Text as i32),
        field_index_params: Some(PayloadIndexParams {
            index_params: Some(IndexParams::TextIndexParams(params)),
        }),
        ..CreateFieldIndexCollection::default()
    };
    backend.create_field_index(request).await.expect("a text index");
    let cases = [
        (MatchValue::Text("FULL disk".to_owned()), vec![1]),
        (MatchValue::Text("full moon".to_owned()), vec![]),
        (MatchValue::Text("磁盘".to_owned()), vec![2]),
        (MatchValue::TextAny("moon nothing disk".to_owned()), vec![1, 3]),
        (MatchValue::Phrase("node seven".to_owned()), vec![1]),
        (MatchValue::Phrase("seven node".to_owned()), vec![]),
    ];
    for (value, expected) in cases {
        let found = found(&backend, &name, must([matches("words", value.clone())])).await;
        assert_eq!(found, BTreeSet::from_iter(expected), "{value:?}");
    }
}
