//! Follows submitted runs until each is judged, skipped or has failed.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use hindsight_client::Client;
use hindsight_proto::{common::v1::EvaluationState, evaluator::v1::GetEvaluationRequest};
use hindsight_wiring::Failure;
use serde::Serialize;
use tokio::time::{Instant, sleep};
use tonic::Code;

use super::{Progress, submit::Submitted};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Questions on their way at a time.
const AT_ONCE: usize = 16;
/// When nothing has changed for this long, the rest is left to the server.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Default, Serialize)]
pub(crate) struct Verdicts {
    pub judged: usize,
    /// The gate left them raw.
    pub skipped: usize,
    pub failed: Vec<Failed>,
    /// Not judged yet.
    pub waiting: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct Failed {
    pub trace_id: String,
    pub reason: String,
}

pub(super) async fn follow(
    client: &Client,
    mut open: Vec<Submitted>,
    progress: &Progress,
) -> Result<Verdicts, Failure> {
    let mut verdicts = Verdicts::default();
    progress.judging(open.len());
    let mut pause = FIRST_PAUSE;
    let mut changed = Instant::now();
    while !open.is_empty() && changed.elapsed() < PATIENCE {
        let before = open.len();
        open = ask(client, open, &mut verdicts).await?;
        if open.len() < before {
            progress.judged(before - open.len());
            (pause, changed) = (FIRST_PAUSE, Instant::now());
        }
        if !open.is_empty() {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    verdicts.waiting = open.len();
    Ok(verdicts)
}

/// Asks for each once; those that still wait come back.
async fn ask(
    client: &Client,
    open: Vec<Submitted>,
    verdicts: &mut Verdicts,
) -> Result<Vec<Submitted>, Failure> {
    let mut waiting = Vec::new();
    let mut answers = stream::iter(open)
        .map(|run| async move {
            let request = GetEvaluationRequest { trace_id: run.trace_id.clone(), user: run.user.clone() };
            (run, client.get_evaluation(request).await)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((run, answer)) = answers.next().await {
        let record = match answer {
            // The verdict on the run as it was before it has grown is not the one that is waited for.
            Ok(answer) => answer.record.filter(|r| r.step_count >= run.steps).unwrap_or_default(),
            Err(e) if e.code == Code::NotFound => Default::default(),
            Err(e) => return Err(e.into()),
        };
        match record.state() {
            EvaluationState::Judged => verdicts.judged += 1,
            EvaluationState::Skipped => verdicts.skipped += 1,
            EvaluationState::Failed => {
                verdicts.failed.push(Failed { trace_id: run.trace_id, reason: record.reason });
            }
            EvaluationState::Waiting | EvaluationState::Unspecified => waiting.push(run),
        }
    }
    Ok(waiting)
}
