use std::sync::atomic::{AtomicI64, Ordering};

use hindsight_ports::testkit::llm::{ScriptedLlm, reply};
use tokio::sync::Semaphore;

use super::*;
use crate::{testing::ManualClock, tokens::tests::request};

fn away() -> LlmError {
    LlmError::Unavailable { reason: "away".into(), retry_after: None }
}

struct Setting {
    inner: Arc<ScriptedLlm>,
    clock: Arc<ManualClock>,
    breaker: Breaker,
    /// Times it opened minus times it closed.
    open: Arc<AtomicI64>,
}

fn setting(script: Vec<Result<LlmReply, LlmError>>) -> Setting {
    let inner = Arc::new(ScriptedLlm::new(script));
    let clock = Arc::new(ManualClock::default());
    let open = Arc::new(AtomicI64::new(0));
    let counter = open.clone();
    let on_change = move |opened: bool| {
        counter.fetch_add(if opened { 1 } else { -1 }, Ordering::SeqCst);
    };
    let breaker = Breaker::new(inner.clone(), clock.clone(), 3, Duration::from_secs(30), on_change);
    Setting { inner, clock, breaker, open }
}

impl Setting {
    async fn call(&self) -> Result<String, LlmError> {
        self.breaker.complete(&request("s", "u")).await.map(|r| r.text)
    }
}

#[tokio::test]
async fn opens_after_failures_in_a_row_and_closes_when_a_trial_succeeds() {
    let mut script = vec![Err(away()), Err(away()), Ok(reply("ok"))];
    script.extend([
        Err(away()),
        Err(away()),
        Err(away()),
        Err(away()),
        Ok(reply("back")),
        Ok(reply("still")),
    ]);
    let s = setting(script);
    for wanted in [Err(away()), Err(away()), Ok("ok".to_owned())] {
        assert_eq!(s.call().await, wanted);
    }
    for _ in 0..3 {
        assert_eq!(s.call().await, Err(away()));
    }
    let until = later(s.clock.now(), Duration::from_secs(30));
    assert_eq!(s.call().await, Err(LlmError::CircuitOpen { until }));
    assert_eq!((s.inner.requests().len(), s.open.load(Ordering::SeqCst)), (6, 1));

    s.clock.advance(Duration::from_secs(30));
    assert_eq!(s.call().await, Err(away()), "the trial fails: left alone again");
    assert!(matches!(s.call().await, Err(LlmError::CircuitOpen { .. })));
    assert_eq!((s.inner.requests().len(), s.open.load(Ordering::SeqCst)), (7, 1));

    s.clock.advance(Duration::from_secs(30));
    assert_eq!(s.call().await.unwrap(), "back");
    assert_eq!(s.call().await.unwrap(), "still");
    assert_eq!(s.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_not_held_against_the_endpoint() {
    let wrong = LlmError::InvalidRequest { reason: "too long".into() };
    let s = setting(vec![Err(wrong.clone()); 10]);
    for _ in 0..10 {
        assert_eq!(s.call().await, Err(wrong.clone()));
    }
}

#[tokio::test]
async fn an_endpoint_may_ask_for_a_longer_pause_but_not_for_an_endless_one() {
    for (asked, given) in [(60, 60), (5, 30), (1_000_000, 15 * 60)] {
        let retry_after = Some(Duration::from_secs(asked));
        let busy = LlmError::RateLimited { reason: "busy".into(), retry_after };
        let s = setting(vec![Err(busy); 3]);
        for _ in 0..3 {
            s.call().await.unwrap_err();
        }
        let until = later(s.clock.now(), Duration::from_secs(given));
        assert_eq!(s.call().await, Err(LlmError::CircuitOpen { until }));
    }
}

/// Fails until a gate is opened, then waits behind it.
struct Gated(Semaphore, ScriptedLlm);

#[async_trait]
impl Llm for Gated {
    fn model(&self) -> &str {
        "gated"
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let result = self.1.complete(request).await;
        if result.is_ok() {
            let _open = self.0.acquire().await;
        }
        result
    }
}

#[tokio::test]
async fn one_call_tries_and_a_dropped_trial_frees_the_place() {
    let script = [Err(away()), Ok(reply("never")), Ok(reply("back"))];
    let gated = Arc::new(Gated(Semaphore::new(0), ScriptedLlm::new(script)));
    let clock = Arc::new(ManualClock::default());
    let breaker = Breaker::new(gated.clone(), clock.clone(), 1, Duration::from_secs(30), |_| {});
    let call = request("s", "u");
    assert_eq!(breaker.complete(&call).await, Err(away()));
    clock.advance(Duration::from_secs(31));

    let mut trial = Box::pin(breaker.complete(&call));
    // Polled once: it waits behind the gate.
    tokio::select! {
        biased;
        _ = &mut trial => panic!("the gate is closed"),
        () = std::future::ready(()) => {}
    }
    assert!(matches!(breaker.complete(&call).await, Err(LlmError::CircuitOpen { .. })));
    drop(trial);
    gated.0.add_permits(1);
    assert_eq!(breaker.complete(&call).await.unwrap().text, "back");
}
