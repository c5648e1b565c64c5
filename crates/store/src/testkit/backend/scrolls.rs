use qdrant_client::qdrant::{
    CountPoints, Direction, FieldType, Filter, OrderBy, Range, ScrollPoints, StartFrom, order_value,
    start_from,
};

use super::build::*;

#[allow(clippy::expect_used)]
pub async fn pages_through_all_points_once(backend: Backend) {
    let name = plain_collection(&backend, "pages").await;
    let points = (1..=25).map(|n| point(n, [("odd", flag(n % 2 == 1))]));
    write(&backend, &name, points.collect()).await;
    let odd = must([matches("odd", qdrant_client::qdrant::r#match::MatchValue::Boolean(true))]);
    for (filter, expected) in
        [(None, (1..=25).collect::<Vec<u64>>()), (Some(odd), (1..=25).step_by(2).collect())]
    {
        let mut seen = Vec::new();
        let mut offset = None;
        loop {
            let request = ScrollPoints {
                collection_name: name.clone(),
                filter: filter.clone(),
                offset,
                limit: Some(4),
                ..ScrollPoints::default()
            };
            let page = backend.scroll(request).await.expect("scrolls");
            assert!(page.points.len() <= 4);
            seen.extend(page.points.iter().map(|point| number(&point.id)));
            match page.next {
                Some(next) => offset = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, expected, "each once, in the order of ids");
    }
}

#[allow(clippy::expect_used)]
pub async fn scrolls_in_the_order_of_a_field(backend: Backend) {
    let name = plain_collection(&backend, "order").await;
    index(&backend, &name, "n", FieldType::Integer).await;
    let points = [30, 10, 20, 50, 40].iter().zip(1..).map(|(n, id)| point(id, [("n", int(*n))]));
    write(&backend, &name, points.chain([point(6, [])]).collect()).await;
    let scroll = |direction: Direction, start_from: Option<i64>, limit| {
        let request = ScrollPoints {
            collection_name: name.clone(),
            limit: Some(limit),
            order_by: Some(OrderBy {
                key: "n".to_owned(),
                direction: Some(direction as i32),
                start_from: start_from
                    .map(|start| StartFrom { value: Some(start_from::Value::Integer(start)) }),
            }),
            ..ScrollPoints::default()
        };
        let backend = backend.clone();
        async move {
            let page = backend.scroll(request).await.expect("scrolls");
            assert_eq!(page.next, None, "an ordered scroll has no offset");
            page.points
                .iter()
                .map(|point| match point.order_value.as_ref().and_then(|value| value.variant) {
                    Some(order_value::Variant::Int(value)) => (number(&point.id), value),
                    other => panic!("no integer order value: {other:?}"),
                })
                .collect::<Vec<_>>()
        }
    };
    let ascending = [(2, 10), (3, 20), (1, 30), (5, 40), (4, 50)];
    assert_eq!(scroll(Direction::Asc, None, 10).await, ascending, "without the field, not in the order");
    assert_eq!(scroll(Direction::Desc, None, 2).await, [(4, 50), (5, 40)]);
    assert_eq!(scroll(Direction::Asc, Some(30), 2).await, [(1, 30), (5, 40)]);
    assert_eq!(scroll(Direction::Desc, Some(20), 9).await, [(3, 20), (2, 10)]);
}

#[allow(clippy::expect_used)]
pub async fn counts(backend: Backend) {
    let name = plain_collection(&backend, "count").await;
    let count = |filter: Option<Filter>| {
        let request = CountPoints {
            collection_name: name.clone(),
            filter,
            exact: Some(true),
            ..CountPoints::default()
        };
        let backend = backend.clone();
        async move { backend.count(request).await.expect("counts") }
    };
    assert_eq!(count(None).await, 0);
    write(&backend, &name, (1..=300).map(|n| point(n, [("n", int(n as i64))])).collect()).await;
    assert_eq!(count(None).await, 300);
    let few = must([range("n", Range { gt: Some(10.0), lt: Some(21.0), ..Range::default() })]);
    assert_eq!(count(Some(few)).await, 10);
}
