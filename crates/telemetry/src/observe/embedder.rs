use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Purpose};
use tracing::Instrument as _;

use crate::{Label, Metric, outcome, span};

/// An embedder whose calls are counted, timed and traced.
pub fn embedder(inner: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
    Arc::new(Observed(inner))
}

struct Observed(Arc<dyn Embedder>);

#[async_trait]
impl Embedder for Observed {
    fn id(&self) -> &EmbedderId {
        self.0.id()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let begun = Instant::now();
        let span = span::embed(&self.id().model, texts.len());
        let result = self.0.embed(texts, purpose).instrument(span.clone()).await;
        let purpose = match purpose {
            Purpose::Query => (Label::Purpose, "query"),
            Purpose::Passage => (Label::Purpose, "passage"),
        };
        Metric::EmbedCalls.add(1, &[purpose, (Label::Result, outcome(&result))]);
        Metric::EmbedDuration.record(begun.elapsed().as_secs_f64(), &[purpose]);
        Metric::EmbedTexts.add(texts.len() as u64, &[purpose]);
        if let Err(error) = &result {
            span::failed(&span, word(error));
        }
        result
    }
}

/// Without the details, which may quote the text.
fn word(error: &EmbedError) -> &'static str {
    match error {
        EmbedError::Unavailable(_) => "unavailable",
        EmbedError::Rejected(_) => "rejected",
        EmbedError::Misconfigured(_) => "misconfigured",
    }
}
