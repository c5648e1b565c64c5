//! What a floor keeps and what it silences.

use std::fmt;

use serde::Serialize;

use super::score::Mean;

const FLOORS: [f32; 11] = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7];

/// For each floor, what would have come with it. The similarity of the best decides, as in the product.
#[derive(Debug, Serialize)]
pub(crate) struct Curve {
    variant: String,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    floor: f32,
    /// Share of the evidence among the first five, over answerable questions.
    recall5: Mean,
    /// Shares of questions that get no answer.
    silent_answerable: Mean,
    silent_unanswerable: Mean,
    silent_foreign: Mean,
}

/// Of which sort a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Answerable,
    /// Made from a true one by swapping a person or a detail.
    Unanswerable,
    /// About another conversation.
    Foreign,
}

impl Curve {
    pub(crate) fn new(variant: &str) -> Self {
        let point = |floor| {
            let [recall5, silent_answerable, silent_unanswerable, silent_foreign] = Default::default();
            Point { floor, recall5, silent_answerable, silent_unanswerable, silent_foreign }
        };
        Self { variant: variant.to_owned(), points: FLOORS.into_iter().map(point).collect() }
    }

    /// `recall`: of a question with evidence.
    pub(crate) fn add(&mut self, sort: Sort, similarity: f32, recall: Option<f64>) {
        for point in &mut self.points {
            let silent = similarity < point.floor || similarity <= 0.0;
            let share = f64::from(u8::from(silent));
            match sort {
                Sort::Answerable => {
                    point.silent_answerable.add(share);
                    if let Some(recall) = recall {
                        point.recall5.add(if silent { 0.0 } else { recall });
                    }
                }
                Sort::Unanswerable => point.silent_unanswerable.add(share),
                Sort::Foreign => point.silent_foreign.add(share),
            }
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Floors, {}:\n", self.variant)?;
        writeln!(
            f,
            "| floor | recall@5 kept | silent: answerable | silent: no answer | silent: other conversation |"
        )?;
        writeln!(f, "|---:|---:|---:|---:|---:|")?;
        for p in &self.points {
            let Point { floor, recall5, silent_answerable, silent_unanswerable, silent_foreign } = p;
            writeln!(
                f,
                "| {floor:.2} | {recall5} | {silent_answerable} | {silent_unanswerable} | {silent_foreign} |"
            )?;
        }
        Ok(())
    }
}
