use std::sync::Arc;

use async_trait::async_trait;
use hindsight_ports::{Llm, LlmError, LlmReply, LlmRequest};
use tokio::sync::Semaphore;

/// Asks an endpoint at most so many things at a time; the others wait in turn.
pub struct Limited {
    inner: Arc<dyn Llm>,
    permits: Semaphore,
}

impl std::fmt::Debug for Limited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limited").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl Limited {
    /// `concurrency` is at least 1.
    pub fn new(inner: Arc<dyn Llm>, concurrency: usize) -> Self {
        Self { inner, permits: Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS)) }
    }
}

#[async_trait]
impl Llm for Limited {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        // It is never closed, so there is always a permit in the end.
        let _permit = self.permits.acquire().await;
        self.inner.complete(request).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hindsight_ports::testkit::llm::reply;

    use super::*;
    use crate::tokens::tests::request;

    /// Counts who is asking it at the same time.
    #[derive(Default)]
    struct Crowd {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    #[async_trait]
    impl Llm for Crowd {
        fn model(&self) -> &str {
            "crowd"
        }

        async fn complete(&self, _: &LlmRequest) -> Result<LlmReply, LlmError> {
            let now = 1 + self.now.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(now, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(reply("ok"))
        }
    }

    #[tokio::test]
    async fn no_more_than_allowed_at_a_time() {
        let crowd = Arc::new(Crowd::default());
        let llm = Arc::new(Limited::new(crowd.clone(), 3));
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let llm = llm.clone();
                tokio::spawn(async move { llm.complete(&request("s", "u")).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
    }
}
