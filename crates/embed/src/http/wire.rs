use hindsight_ports::EmbedError;
use serde::{Deserialize, Serialize};

use crate::unit::unit;

/// The request of OpenAI's "Create embeddings".
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [String],
    pub(super) encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Response {
    data: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    /// Place of its text in the request; the items may come in any order.
    index: usize,
    /// Wide, so that a number too large for `f32` is seen and not silently infinite.
    embedding: Vec<f64>,
}

/// Reads the answer to a request of `count` texts: one unit vector each, in the order of the request.
pub(super) fn vectors(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let wrong = |problem: String| {
        EmbedError::Misconfigured(format!("not the answer of an OpenAI-compatible endpoint: {problem}"))
    };
    let response: Response = serde_json::from_slice(body).map_err(|e| wrong(e.to_string()))?;
    if response.data.len() != count {
        return Err(wrong(format!("{} embeddings for {count} texts", response.data.len())));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for Item { index, embedding } in response.data {
        match vectors.get_mut(index) {
            Some(slot @ None) => *slot = Some(direction(embedding)?),
            Some(Some(_)) => return Err(wrong(format!("index {index} comes twice"))),
            None => return Err(wrong(format!("index {index} for {count} texts"))),
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

fn direction(embedding: Vec<f64>) -> Result<Vec<f32>, EmbedError> {
    unit(embedding.into_iter().map(|x| x as f32).collect())
        .ok_or_else(|| EmbedError::Rejected("the endpoint gave a vector without direction".to_owned()))
}
