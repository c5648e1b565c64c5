use std::time::{Duration, Instant};

/// How long anything may take, on a slow and busy machine.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Asks until the answer is `Ok`. Panics after [`LIMIT`] with what was seen last.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(last) => assert!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}; last: {last}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
