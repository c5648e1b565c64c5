//! Random writes and filters against a naive model of the same thing in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{count, id, int, number, open, text, upsert};
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use proptest::{prelude::*, sample::select};
use qdrant_client::qdrant::{
    Condition, CreateCollection, CreateFieldIndexCollection, DeletePoints, FacetCounts, FieldCondition,
    FieldType, Filter, HasIdCondition, IsEmptyCondition, IsNullCondition, ListValue, Match, MinShould,
    PointStruct, PointsSelector, Range, RepeatedIntegers, RepeatedStrings, ScrollPoints, SetPayloadPoints,
    Struct, Value, condition::ConditionOneOf, facet_value, r#match::MatchValue,
    points_selector::PointsSelectorOneOf, value::Kind,
};

const COLLECTION: &str = "model";
const WORDS: [&str; 4] = ["a", "b", "磁盘", ""];

/// A payload: a set of words (or one, or none), an integer, a float, a flag, a nested integer, a field that
/// may be null.
#[derive(Debug, Clone, PartialEq)]
struct Doc {
    words: Option<BTreeSet<&'static str>>,
    one_word: bool,
    n: Option<i64>,
    quarter: Option<i64>,
    flag: Option<bool>,
    inner: Option<i64>,
    maybe: Option<Option<i64>>,
}

#[derive(Debug, Clone)]
enum Leaf {
    Word(&'static str),
    AnyWord(BTreeSet<&'static str>),
    N(i64),
    AnyN(BTreeSet<i64>),
    NRange(Option<i64>, Option<i64>),
    QuarterBelow(i64),
    Flag(bool),
    Inner(i64),
    Empty(&'static str),
    Null,
    Ids(BTreeSet<u64>),
}

#[derive(Debug, Clone)]
enum Tree {
    Leaf(Leaf),
    Node { must: Vec<Tree>, should: Vec<Tree>, must_not: Vec<Tree>, min: Option<(Vec<Tree>, u64)> },
}

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<(u64, Doc)>),
    SetN(Tree, i64),
    Delete(Tree),
    Reopen,
    Ask(Tree),
}

fn doc() -> impl Strategy<Value = Doc> {
    let words = prop::option::of(prop::collection::btree_set(select(&WORDS[..]), 0..3));
    let small = || prop::option::of(-3..4_i64);
    (words, any::<bool>(), small(), small(), any::<Option<bool>>(), small(), prop::option::of(small()))
        .prop_map(|(words, one_word, n, quarter, flag, inner, maybe)| Doc {
            words,
            one_word,
            n,
            quarter,
            flag,
            inner,
            maybe,
        })
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let words = || prop::collection::btree_set(select(&WORDS[..]), 0..3);
    prop_oneof![
        select(&WORDS[..]).prop_map(Leaf::Word),
        words().prop_map(Leaf::AnyWord),
        (-3..4_i64).prop_map(Leaf::N),
        prop::collection::btree_set(-3..4_i64, 0..3).prop_map(Leaf::AnyN),
        (prop::option::of(-3..4_i64), prop::option::of(-3..4_i64))
            .prop_map(|(lower, upper)| Leaf::NRange(lower, upper)),
        (-3..4_i64).prop_map(Leaf::QuarterBelow),
        any::<bool>().prop_map(Leaf::Flag),
        (-3..4_i64).prop_map(Leaf::Inner),
        select(&["words", "n", "inner.x", "maybe"][..]).prop_map(Leaf::Empty),
        Just(Leaf::Null),
        prop::collection::btree_set(0..20_u64, 0..8).prop_map(Leaf::Ids),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_map(Tree::Leaf).prop_recursive(3, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..3);
        let min = prop::option::of((prop::collection::vec(inner.clone(), 1..4), 1..3_u64));
        (some(), some(), some(), min).prop_map(|(must, should, must_not, min)| Tree::Node {
            must,
            should,
            must_not,
            min,
        })
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec((0..20_u64, doc()), 1..8).prop_map(Step::Put),
        1 => (tree(), -3..4_i64).prop_map(|(tree, n)| Step::SetN(tree, n)),
        1 => tree().prop_map(Step::Delete),
        1 => Just(Step::Reopen),
        6 => tree().prop_map(Step::Ask),
    ]
}

impl Leaf {
    fn holds(&self, id: u64, doc: &Doc) -> bool {
        let words = doc.words.iter().flatten();
        match self {
            Self::Word(word) => words.into_iter().any(|w| w == word),
            Self::AnyWord(set) => words.into_iter().any(|w| set.contains(w)),
            Self::N(n) => doc.n == Some(*n),
            Self::AnyN(set) => doc.n.is_some_and(|n| set.contains(&n)),
            Self::NRange(lower, upper) => {
                doc.n.is_some_and(|n| lower.is_none_or(|l| n > l) && upper.is_none_or(|u| n <= u))
            }
            Self::QuarterBelow(quarter) => doc.quarter.is_some_and(|q| q < *quarter),
            Self::Flag(flag) => doc.flag == Some(*flag),
            Self::Inner(n) => doc.inner == Some(*n),
            Self::Empty("words") => doc.words.as_ref().is_none_or(BTreeSet::is_empty),
            Self::Empty("n") => doc.n.is_none(),
            Self::Empty("inner.x") => doc.inner.is_none(),
            Self::Empty(_) => doc.maybe.flatten().is_none(),
            Self::Null => doc.maybe == Some(None),
            Self::Ids(ids) => ids.contains(&id),
        }
    }

    fn message(&self) -> ConditionOneOf {
        let on = |key: &str, condition: FieldCondition| {
            ConditionOneOf::Field(FieldCondition { key: key.to_owned(), ..condition })
        };
        let matches = |key: &str, value: MatchValue| {
            let r#match = Some(Match { match_value: Some(value) });
            on(key, FieldCondition { r#match, ..FieldCondition::default() })
        };
        let range = |key: &str, range: Range| {
            on(key, FieldCondition { range: Some(range), ..FieldCondition::default() })
        };
        let strings = |set: &BTreeSet<&str>| RepeatedStrings {
            strings: set.iter().map(|word| (*word).to_owned()).collect(),
        };
        match self {
            Self::Word(word) => matches("words", MatchValue::Keyword((*word).to_owned())),
            Self::AnyWord(set) => matches("words", MatchValue::Keywords(strings(set))),
            Self::N(n) => matches("n", MatchValue::Integer(*n)),
            Self::AnyN(set) => matches(
                "n",
                MatchValue::Integers(RepeatedIntegers { integers: set.iter().copied().collect() }),
            ),
            Self::NRange(lower, upper) => range(
                "n",
                Range { gt: lower.map(|n| n as f64), lte: upper.map(|n| n as f64), ..Range::default() },
            ),
            Self::QuarterBelow(quarter) => {
                range("quarter", Range { lt: Some(*quarter as f64 / 4.0), ..Range::default() })
            }
            Self::Flag(flag) => matches("flag", MatchValue::Boolean(*flag)),
            Self::Inner(n) => matches("inner.x", MatchValue::Integer(*n)),
            Self::Empty(key) => ConditionOneOf::IsEmpty(IsEmptyCondition { key: (*key).to_owned() }),
            Self::Null => ConditionOneOf::IsNull(IsNullCondition { key: "maybe".to_owned() }),
            Self::Ids(ids) => {
                ConditionOneOf::HasId(HasIdCondition { has_id: ids.iter().copied().map(id).collect() })
            }
        }
    }
}

impl Tree {
    fn holds(&self, id: u64, doc: &Doc) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.holds(id, doc),
            Self::Node { must, should, must_not, min } => {
                let holds = |tree: &Tree| tree.holds(id, doc);
                must.iter().all(holds)
                    && (should.is_empty() || should.iter().any(holds))
                    && !must_not.iter().any(holds)
                    && min.as_ref().is_none_or(|(trees, count)| {
                        trees.iter().filter(|tree| holds(tree)).count() as u64 >= *count
                    })
            }
        }
    }

    fn condition(&self) -> Condition {
        let one_of = match self {
            Self::Leaf(leaf) => leaf.message(),
            Self::Node { .. } => ConditionOneOf::Filter(self.filter()),
        };
        Condition { condition_one_of: Some(one_of) }
    }

    fn filter(&self) -> Filter {
        let all = |trees: &[Tree]| trees.iter().map(Tree::condition).collect::<Vec<_>>();
        match self {
            Self::Leaf(_) => Filter { must: vec![self.condition()], ..Filter::default() },
            Self::Node { must, should, must_not, min } => Filter {
                must: all(must),
                should: all(should),
                must_not: all(must_not),
                min_should: min
                    .as_ref()
                    .map(|(trees, count)| MinShould { conditions: all(trees), min_count: *count }),
            },
        }
    }
}

fn point(n: u64, doc: &Doc) -> PointStruct {
    let mut fields: Vec<(&str, Value)> = Vec::new();
    let value = |kind| Value { kind: Some(kind) };
    match doc.words.as_ref().map(|words| words.iter().copied().collect::<Vec<_>>()) {
        Some(words) if doc.one_word && words.len() == 1 => fields.push(("words", text(words[0]))),
        Some(words) => {
            let values = words.into_iter().map(text).collect();
            fields.push(("words", value(Kind::ListValue(ListValue { values }))));
        }
        None => {}
    }
    fields.extend(doc.n.map(|n| ("n", int(n))));
    fields.extend(doc.quarter.map(|quarter| ("quarter", value(Kind::DoubleValue(quarter as f64 / 4.0)))));
    fields.extend(doc.flag.map(|flag| ("flag", value(Kind::BoolValue(flag)))));
    fields.extend(
        doc.inner.map(|n| {
            ("inner", value(Kind::StructValue(Struct { fields: [("x".to_owned(), int(n))].into() })))
        }),
    );
    fields.extend(doc.maybe.map(|maybe| ("maybe", maybe.map_or(value(Kind::NullValue(0)), int))));
    PointStruct {
        id: Some(id(n)),
        payload: fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        ..PointStruct::default()
    }
}

type Model = BTreeMap<u64, Doc>;

async fn create(store: &EdgeBackend) {
    let request = CreateCollection { collection_name: COLLECTION.to_owned(), ..CreateCollection::default() };
    store.create_collection(request).await.unwrap();
    for (field, kind) in
        [("words", FieldType::Keyword), ("n", FieldType::Integer), ("inner.x", FieldType::Integer)]
    {
        let request = CreateFieldIndexCollection {
            collection_name: COLLECTION.to_owned(),
            field_name: field.to_owned(),
            field_type: Some(kind as i32),
            ..CreateFieldIndexCollection::default()
        };
        store.create_field_index(request).await.unwrap();
    }
}

fn selector(tree: &Tree) -> Option<PointsSelector> {
    Some(PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(tree.filter())) })
}

async fn run(steps: Vec<Step>) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path(), 1_000_000);
    create(&store).await;
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Put(docs) => {
                upsert(&store, COLLECTION, docs.iter().map(|(n, doc)| point(*n, doc)).collect()).await;
                model.extend(docs);
            }
            Step::SetN(tree, n) => {
                let request = SetPayloadPoints {
                    collection_name: COLLECTION.to_owned(),
                    payload: [("n".to_owned(), int(n))].into(),
                    points_selector: selector(&tree),
                    ..SetPayloadPoints::default()
                };
                store.set_payload(request).await.unwrap();
                model
                    .iter_mut()
                    .filter(|(id, doc)| tree.holds(**id, doc))
                    .for_each(|(_, doc)| doc.n = Some(n));
            }
            Step::Delete(tree) => {
                let request = DeletePoints {
                    collection_name: COLLECTION.to_owned(),
                    points: selector(&tree),
                    ..DeletePoints::default()
                };
                store.delete(request).await.unwrap();
                model.retain(|id, doc| !tree.holds(*id, doc));
            }
            Step::Reopen => {
                drop(store);
                store = open(dir.path(), 1_000_000);
            }
            Step::Ask(tree) => ask(&store, &model, &tree).await,
        }
    }
    let everything = Tree::Node { must: vec![], should: vec![], must_not: vec![], min: None };
    ask(&store, &model, &everything).await;
    for point_stored in common::everything(&store, COLLECTION).await {
        let n = number(&point_stored.id);
        assert_eq!(point_stored.payload, point(n, &model[&n]).payload);
    }
}

async fn ask(store: &EdgeBackend, model: &Model, tree: &Tree) {
    let matching = || model.iter().filter(|(id, doc)| tree.holds(**id, doc));
    let expected: BTreeSet<u64> = matching().map(|(id, _)| *id).collect();
    let request = ScrollPoints {
        collection_name: COLLECTION.to_owned(),
        filter: Some(tree.filter()),
        limit: Some(100),
        ..ScrollPoints::default()
    };
    let scrolled = store.scroll(request).await.unwrap();
    let found: BTreeSet<u64> = scrolled.points.iter().map(|point| number(&point.id)).collect();
    assert_eq!(found, expected, "{tree:?}\n{model:?}");
    assert_eq!(count(store, COLLECTION, Some(tree.filter())).await, expected.len() as u64);

    let mut facets = BTreeMap::new();
    for word in matching().flat_map(|(_, doc)| doc.words.iter().flatten()) {
        *facets.entry((*word).to_owned()).or_insert(0) += 1;
    }
    let request = FacetCounts {
        collection_name: COLLECTION.to_owned(),
        key: "words".to_owned(),
        filter: Some(tree.filter()),
        exact: Some(true),
        ..FacetCounts::default()
    };
    let hits = store.facet(request).await.unwrap().into_iter().map(|hit| {
        let Some(facet_value::Variant::StringValue(word)) = hit.value.and_then(|value| value.variant) else {
            panic!("not a word");
        };
        (word, hit.count)
    });
    assert_eq!(hits.collect::<BTreeMap<_, _>>(), facets, "{tree:?}\n{model:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(run(steps));
    }
}
