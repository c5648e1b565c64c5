use std::collections::BTreeMap;

use qdrant_client::qdrant::{
    CreateFieldIndexCollection, FacetCounts, FieldType, KeywordIndexParams, PayloadIndexParams, facet_value,
    payload_index_params::IndexParams,
};

use super::build::*;

#[allow(clippy::expect_used)]
pub async fn creates_each_kind_of_index_any_number_of_times(backend: Backend) {
    let name = plain_collection(&backend, "indexes").await;
    let kinds = [
        ("keyword", FieldType::Keyword),
        ("integer", FieldType::Integer),
        ("float", FieldType::Float),
        ("bool", FieldType::Bool),
        ("datetime", FieldType::Datetime),
        ("text", FieldType::Text),
        ("uuid", FieldType::Uuid),
    ];
    let tenant = CreateFieldIndexCollection {
        collection_name: name.clone(),
        wait: Some(true),
        field_name: "tenant".to_owned(),
        field_type: Some(FieldType::Keyword as i32),
        field_index_params: Some(PayloadIndexParams {
            index_params: Some(IndexParams::KeywordIndexParams(KeywordIndexParams {
                is_tenant: Some(true),
                ..KeywordIndexParams::default()
            })),
        }),
        ..CreateFieldIndexCollection::default()
    };
    for _ in 0..2 {
        for (field, kind) in kinds {
            index(&backend, &name, field, kind).await;
        }
        backend.create_field_index(tenant.clone()).await.expect("a tenant index");
    }
    let info = backend.collection_info(&name).await.expect("asks").expect("exists");
    assert_eq!(info.payload_schema.len(), kinds.len() + 1, "{:?}", info.payload_schema);

    // Values that do not fit the index of their field are kept, and simply not found through it.
    write(&backend, &name, vec![point(1, [("integer", text("七")), ("tenant", text("acme"))])]).await;
    assert_eq!(read_payload(&backend, &name, 1).await.get("integer"), Some(&text("七")));
    assert_eq!(found(&backend, &name, must([keyword("tenant", "acme")])).await.len(), 1);
}

#[allow(clippy::expect_used)]
pub async fn counts_facets(backend: Backend) {
    let name = plain_collection(&backend, "facets").await;
    index(&backend, &name, "tool", FieldType::Keyword).await;
    let tools = ["bash", "bash", "bash", "搜索", "搜索", "edit"];
    let points =
        tools.iter().zip(1..).map(|(tool, n)| point(n, [("tool", text(tool)), ("ok", flag(n != 1))]));
    write(&backend, &name, points.collect()).await;
    let facet = |filter, limit| {
        let request = FacetCounts {
            collection_name: name.clone(),
            key: "tool".to_owned(),
            filter,
            limit: Some(limit),
            exact: Some(true),
            ..FacetCounts::default()
        };
        let backend = backend.clone();
        async move {
            let hits = backend.facet(request).await.expect("facets");
            hits.into_iter()
                .map(|hit| match hit.value.and_then(|value| value.variant) {
                    Some(facet_value::Variant::StringValue(value)) => (value, hit.count),
                    other => panic!("not a string: {other:?}"),
                })
                .collect::<BTreeMap<_, _>>()
        }
    };
    let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(tool, n)| ((*tool).to_owned(), *n)).collect();
    let all: BTreeMap<String, u64> = of(&[("bash", 3), ("搜索", 2), ("edit", 1)]);
    assert_eq!(facet(None, 10).await, all);
    let top: BTreeMap<String, u64> = of(&[("bash", 3), ("搜索", 2)]);
    assert_eq!(facet(None, 2).await, top);
    let ok = must([matches("ok", qdrant_client::qdrant::r#match::MatchValue::Boolean(true))]);
    let good: BTreeMap<String, u64> = of(&[("bash", 2), ("搜索", 2), ("edit", 1)]);
    assert_eq!(facet(Some(ok), 10).await, good);
}
