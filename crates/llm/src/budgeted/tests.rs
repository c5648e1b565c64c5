use std::time::Duration;

use hindsight_ports::{
    LlmUsage,
    testkit::llm::{ScriptedLlm, reply},
};

use super::*;
use crate::{testing::ManualClock, tokens::tests::request};

/// 20 tokens of input as estimated, 100 of output at most; takes 110 as scripted.
fn asking(tenant: &str) -> LlmRequest {
    LlmRequest { tenant: TenantId::new(tenant).unwrap(), ..request(&"磁".repeat(10), &"盘".repeat(10)) }
}

fn budgeted(script: Vec<Result<LlmReply, LlmError>>, daily: u64) -> (Budgeted, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (Budgeted::new(Arc::new(ScriptedLlm::new(script)), clock.clone(), daily), clock)
}

#[tokio::test]
async fn a_tenant_stops_at_its_bound_and_begins_anew_at_midnight() {
    let (llm, clock) = budgeted(vec![Ok(reply("ok")); 4], 339);
    llm.complete(&asking("acme")).await.unwrap();
    llm.complete(&asking("acme")).await.unwrap();
    let error = llm.complete(&asking("acme")).await.unwrap_err();
    let resets_at = "2026-03-02T00:00:00Z".parse().unwrap();
    let tenant = TenantId::new("acme").unwrap();
    assert_eq!(error, LlmError::BudgetExceeded { tenant, needed: 120, left: 119, resets_at });
    assert_eq!(error.retry_after(clock.now()), Some(Duration::from_secs(4 * 3600)));
    assert!(error.to_string().contains("llm.daily_tokens_per_tenant"), "{error}");

    llm.complete(&asking("globex")).await.unwrap();
    clock.advance(Duration::from_secs(4 * 3600));
    llm.complete(&asking("acme")).await.unwrap();
}

#[tokio::test]
async fn only_what_was_taken_counts() {
    let usage = LlmUsage { input_tokens: 20, output_tokens: 100, cost_micros: 0 };
    let cached = LlmReply { cached: true, ..reply("ok") };
    let script = vec![
        Err(LlmError::Unavailable { reason: "away".into(), retry_after: None }),
        Ok(cached),
        Err(LlmError::Truncated { text: String::new(), max_output_tokens: 100, usage }),
        Err(LlmError::TimedOut { after: Duration::from_secs(1) }),
    ];
    let (llm, _) = budgeted(script, 250);
    for left in [250, 250, 130, 110] {
        let _ = llm.complete(&asking("acme")).await;
        let spent = llm.today().spent.values().copied().sum::<u64>();
        assert_eq!(250 - spent, left);
    }
    assert!(matches!(llm.complete(&asking("acme")).await, Err(LlmError::BudgetExceeded { left: 110, .. })));
}

/// Never answers.
struct Silent;

#[async_trait]
impl Llm for Silent {
    fn model(&self) -> &str {
        "silent"
    }

    async fn complete(&self, _: &LlmRequest) -> Result<LlmReply, LlmError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn calls_at_the_same_time_cannot_overdraw_and_dropped_ones_stay_paid() {
    let llm = Budgeted::new(Arc::new(Silent), Arc::new(ManualClock::default()), 300);
    let call = asking("acme");
    for _ in 0..2 {
        tokio::select! {
            biased;
            _ = llm.complete(&call) => panic!("there is no answer"),
            () = std::future::ready(()) => {}
        }
    }
    assert!(matches!(llm.complete(&call).await, Err(LlmError::BudgetExceeded { left: 60, .. })));
}
