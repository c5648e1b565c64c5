//! The walk through memories that lack a vector, and what is done with a batch of them.

use std::collections::HashMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hindsight_ports::{EmbedError, Purpose, StoreError};
use hindsight_types::Memory;
use qdrant_client::qdrant::{
    Condition, CountPoints, DenseVector, Filter, NamedVectors, PointId, PointVectors, PointsSelector,
    RetrievedPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, Vectors, WithPayloadSelector,
    points_selector::PointsSelectorOneOf, vectors::VectorsOptions,
};

use super::{Step, Walker};
use crate::{
    collection::Collection,
    field, point,
    scoped::next_id,
    vectors::{Building, Named},
};

/// Memories of one step.
const BATCH: u32 = 256;
/// Texts of one call of the embedder, and calls at a time.
const TEXTS: usize = 32;
const CALLS: usize = 4;
/// When so many are all refused, it is not the texts that are wrong.
const SUSPICIOUS: usize = 16;

/// Memories of a batch by what became of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Handled {
    pub(super) done: u64,
    pub(super) skipped: u64,
}

/// A memory without the vector, as it was read.
struct Bare {
    id: PointId,
    /// Which write of it that was; `None`: by a build that did not say.
    stamp: Option<i64>,
    /// `None`: it cannot be read.
    text: Option<String>,
}

impl Step<'_> {
    /// Handles the next memories that lack the vector. `None`: that was the last collection.
    pub(super) async fn walk(
        &self,
        named: &Named,
        walker: &mut Walker,
    ) -> Result<Option<Handled>, StoreError> {
        while let Some(collection) = Collection::with_vectors().nth(walker.collection) {
            let collection = self.full_name(collection);
            let request = ScrollPoints {
                collection_name: collection.clone(),
                filter: Some(lacking(&named.name)),
                offset: walker.from.map(point::to_point_id),
                limit: Some(BATCH),
                with_payload: Some(WithPayloadSelector::from(true)),
                ..ScrollPoints::default()
            };
            let page = self.scoped.raw().0.scroll(request).await?;
            let next = next_id(page.next)?;
            let handled = match page.points.is_empty() {
                true => None,
                false => Some(self.encode(&collection, named, page.points).await?),
            };
            // Only now: what fails is looked at again.
            walker.from = next;
            if next.is_none() {
                walker.collection += 1;
            }
            if let Some(handled) = handled {
                walker.found += handled.done + handled.skipped;
                return Ok(Some(handled));
            }
        }
        Ok(None)
    }

    async fn encode(
        &self,
        collection: &str,
        named: &Named,
        points: Vec<RetrievedPoint>,
    ) -> Result<Handled, StoreError> {
        let (bare, mut refused): (Vec<_>, Vec<_>) =
            points.into_iter().filter_map(read).partition(|bare| bare.text.is_some());
        let chunks = bare.chunks(TEXTS).map(|chunk| chunk.iter().filter_map(|b| b.text.clone()).collect());
        let chunks: Vec<Vec<String>> = chunks.collect();
        let made: Vec<Vec<Option<Vec<f32>>>> =
            stream::iter(chunks).map(|texts| self.embed(texts)).buffered(CALLS).try_collect().await?;
        let mut made = made.into_iter().flatten();
        let mut vectors = Vec::new();
        for bare in bare {
            match made.next().flatten() {
                Some(vector) => vectors.push((bare, vector)),
                None => refused.push(bare),
            }
        }
        let texts = refused.iter().filter(|bare| bare.text.is_some()).count();
        if vectors.is_empty() && texts >= SUSPICIOUS {
            let embedder = self.embedder.id();
            return Err(StoreError::Unavailable(format!(
                "{embedder} refuses every text, {texts} in a row; check the embedder"
            )));
        }
        let handled = Handled { done: vectors.len() as u64, skipped: refused.len() as u64 };
        self.give(collection, named, vectors).await?;
        self.mark(collection, named, refused).await?;
        Ok(handled)
    }

    /// A vector for each text; `None` for one that the embedder refuses.
    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Option<Vec<f32>>>, StoreError> {
        match self.call(&texts).await {
            Ok(vectors) => Ok(vectors.into_iter().map(Some).collect()),
            Err(EmbedError::Rejected(_)) => {
                let mut all = Vec::with_capacity(texts.len());
                for text in &texts {
                    match self.call(std::slice::from_ref(text)).await {
                        Ok(vectors) => all.extend(vectors.into_iter().map(Some)),
                        Err(EmbedError::Rejected(_)) => all.push(None),
                        Err(other) => return Err(unavailable(&other)),
                    }
                }
                Ok(all)
            }
            Err(other) => Err(unavailable(&other)),
        }
    }

    async fn call(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let dimension = self.embedder.id().dimension;
        let vectors = self.embedder.embed(texts, Purpose::Passage).await?;
        let problem = if vectors.len() != texts.len() {
            format!("{} vectors for {} texts", vectors.len(), texts.len())
        } else if let Some(vector) = vectors.iter().find(|vector| vector.len() != dimension) {
            format!("a vector of {} dimensions instead of {dimension}", vector.len())
        } else if !vectors.iter().flatten().all(|value| value.is_finite()) {
            return Err(EmbedError::Rejected("its vector holds a value that is not a number".to_owned()));
        } else {
            return Ok(vectors);
        };
        Err(EmbedError::Misconfigured(problem))
    }

    /// Gives memories their vectors, unless they were written anew since they were read.
    async fn give(
        &self,
        collection: &str,
        named: &Named,
        vectors: Vec<(Bare, Vec<f32>)>,
    ) -> Result<(), StoreError> {
        if vectors.is_empty() {
            return Ok(());
        }
        let unchanged = vectors.iter().map(|(bare, _)| bare.unchanged()).collect();
        let update_filter = Filter { should: unchanged, ..lacking(&named.name) };
        let points = vectors.into_iter().map(|(bare, data)| {
            let vectors = HashMap::from([(named.name.clone(), DenseVector { data }.into())]);
            let vectors = VectorsOptions::Vectors(NamedVectors { vectors });
            PointVectors { id: Some(bare.id), vectors: Some(Vectors { vectors_options: Some(vectors) }) }
        });
        let request = UpdatePointVectors {
            collection_name: collection.to_owned(),
            wait: Some(true),
            points: points.collect(),
            update_filter: Some(update_filter),
            ..UpdatePointVectors::default()
        };
        self.scoped.raw().0.update_vectors(request).await
    }

    /// Marks memories that can have no vector of this name, so that they are not tried for ever. Writing one anew
    /// takes the mark away.
    async fn mark(&self, collection: &str, named: &Named, refused: Vec<Bare>) -> Result<(), StoreError> {
        if refused.is_empty() {
            return Ok(());
        }
        tracing::warn!(collection, memories = refused.len(), "no vector can be made; found by words alone");
        let unchanged = refused.iter().map(Bare::unchanged).collect();
        let selected = Filter { should: unchanged, ..lacking(&named.name) };
        let request = SetPayloadPoints {
            collection_name: collection.to_owned(),
            wait: Some(true),
            payload: HashMap::from([(field::UNENCODED.to_owned(), named.name.as_str().into())]),
            points_selector: Some(PointsSelector {
                points_selector_one_of: Some(PointsSelectorOneOf::Filter(selected)),
            }),
            ..SetPayloadPoints::default()
        };
        self.scoped.raw().0.set_payload(request).await
    }

    /// Counts what there is and what of it has its vector.
    pub(super) async fn count(&self, building: &mut Building) -> Result<(), StoreError> {
        let name = &building.named.name;
        let (mut total, mut left, mut skipped) = (0, 0, 0);
        for collection in Collection::with_vectors() {
            let collection = self.full_name(collection);
            total += self.count_in(&collection, Filter::default()).await?;
            left += self.count_in(&collection, lacking(name)).await?;
            skipped += self.count_in(&collection, Filter::must([marked(name)])).await?;
        }
        (building.total, building.skipped) = (total, skipped);
        building.done = total.saturating_sub(left + skipped);
        Ok(())
    }

    async fn count_in(&self, collection: &str, filter: Filter) -> Result<u64, StoreError> {
        let request = CountPoints {
            collection_name: collection.to_owned(),
            filter: Some(filter),
            exact: Some(true),
            ..CountPoints::default()
        };
        self.scoped.raw().0.count(request).await
    }

    fn full_name(&self, collection: Collection) -> String {
        format!("{}{}", self.scoped.raw().1, collection.name())
    }
}

impl Bare {
    /// That the point is still as it was read.
    fn unchanged(&self) -> Condition {
        let written = match self.stamp {
            Some(stamp) => Condition::matches(field::STAMP, stamp),
            None => Condition::is_empty(field::STAMP),
        };
        Filter::must([Condition::has_id([self.id.clone()]), written]).into()
    }
}

fn read(point: RetrievedPoint) -> Option<Bare> {
    let id = point.id.clone()?;
    let stamp = point::integer(&point.payload, field::STAMP);
    let text = match point::decode::<Memory>(&point) {
        // What writers have embedded.
        Ok(memory) => Some(memory.indexed_text()),
        Err(error) => {
            tracing::error!(%error, "a stored record cannot be given a vector");
            None
        }
    };
    Some(Bare { id, stamp, text })
}

/// Points that could have this vector and do not.
fn lacking(name: &str) -> Filter {
    Filter::must_not([Condition::has_vector(name), marked(name)])
}

fn marked(name: &str) -> Condition {
    Condition::matches(field::UNENCODED, name.to_owned())
}

/// The build waits until the embedder can be used.
fn unavailable(error: &EmbedError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
