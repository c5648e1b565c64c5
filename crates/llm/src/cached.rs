use std::sync::Arc;

use async_trait::async_trait;
use hindsight_ports::{Llm, LlmError, LlmReply, LlmRequest};
use hindsight_types::TenantId;
use quick_cache::{Weighter, sync::Cache};

use crate::prompt_hash;

/// What an entry takes beside its text, in bytes, roughly.
const OVERHEAD: usize = 256;

/// How long a usual reply is, to guess how many will fit.
const USUAL: u64 = 1 << 10;

type Key = (TenantId, String);

/// Gives the same reply to the same request of the same tenant, while there is room for it in memory.
pub struct Cached {
    inner: Arc<dyn Llm>,
    replies: Cache<Key, LlmReply, Bytes>,
}

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<Key, LlmReply> for Bytes {
    fn weight(&self, _: &Key, reply: &LlmReply) -> u64 {
        (reply.text.len() + OVERHEAD) as u64
    }
}

impl std::fmt::Debug for Cached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached").field("replies", &self.replies.len()).finish_non_exhaustive()
    }
}

impl Cached {
    pub fn new(inner: Arc<dyn Llm>, bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX);
        Self { inner, replies: Cache::with_weighter(items.max(1), bytes, Bytes) }
    }
}

#[async_trait]
impl Llm for Cached {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let key = (request.tenant.clone(), prompt_hash(request));
        if let Some(reply) = self.replies.get(&key) {
            return Ok(LlmReply { cached: true, ..reply });
        }
        let reply = self.inner.complete(request).await?;
        self.replies.insert(key, reply.clone());
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use hindsight_ports::testkit::llm::{ScriptedLlm, reply};

    use super::*;
    use crate::tokens::tests::request;

    #[tokio::test]
    async fn asks_once_and_says_so() {
        let inner = Arc::new(ScriptedLlm::saying(["一", "二", "三"]));
        let llm = Cached::new(inner.clone(), 1 << 20);
        let first = llm.complete(&request("s", "u")).await.unwrap();
        let again = llm.complete(&request("s", "u")).await.unwrap();
        assert_eq!((first.cached, &again), (false, &LlmReply { cached: true, ..first.clone() }));
        let seeded = LlmRequest { seed: Some(1), ..request("s", "u") };
        assert_eq!(llm.complete(&seeded).await.unwrap().text, "二", "another seed is another question");
        let other = LlmRequest { tenant: TenantId::new("other").unwrap(), ..request("s", "u") };
        assert_eq!(llm.complete(&other).await.unwrap().text, "三", "tenants share nothing");
        assert_eq!(inner.requests().len(), 3);
    }

    #[tokio::test]
    async fn failures_are_not_kept() {
        let error = LlmError::Declined { reason: "no".into() };
        let llm = Cached::new(Arc::new(ScriptedLlm::new([Err(error), Ok(reply("ok"))])), 1 << 20);
        llm.complete(&request("s", "u")).await.unwrap_err();
        assert_eq!(llm.complete(&request("s", "u")).await.unwrap().text, "ok");
    }

    #[tokio::test]
    async fn takes_no_more_room_than_given() {
        let long = "字".repeat(1_000);
        let llm = Cached::new(Arc::new(ScriptedLlm::answering(move |_| Ok(reply(long.clone())))), 10_000);
        for i in 0..100 {
            llm.complete(&request("s", &i.to_string())).await.unwrap();
        }
        assert!(llm.replies.weight() <= 10_000 && !llm.replies.is_empty(), "{llm:?}");
    }
}
