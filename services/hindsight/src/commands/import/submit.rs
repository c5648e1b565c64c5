//! Hands runs to the server, several at a time, and leaves out what is there already.

use futures::{Stream, StreamExt as _, stream::FuturesUnordered};
use hindsight_client::{Client, Error};
use hindsight_codec::trajectory_to_proto;
use hindsight_proto::{
    collector::v1::SubmitTrajectoryRequest, common::v1::EvaluationState, evaluator::v1::GetEvaluationRequest,
};
use hindsight_types::{Trajectory, Visibility};
use hindsight_wiring::Failure;
use tonic::Code;

use super::{
    Progress, Report,
    files::Read,
    report::{Changed, Refusal},
};

/// Runs on their way at a time.
const AT_ONCE: usize = 8;

/// A run that was taken in, as its evaluation is asked for.
#[derive(Debug, Clone)]
pub(super) struct Submitted {
    pub trace_id: String,
    pub user: String,
    pub steps: u32,
}

enum Outcome {
    Submitted,
    /// Taken in before with fewer steps.
    Grown,
    AlreadyThere,
    /// Taken in before with this number of steps, more than it has now.
    Shrunk(u32),
    Refused(String),
}

/// Submits every run that `reads` brings and notes what became of each. Gives up when the server does.
pub(super) async fn all(
    client: &Client,
    mut reads: impl Stream<Item = Read> + Unpin,
    report: &mut Report,
    progress: &Progress,
) -> Result<Vec<Submitted>, Failure> {
    let mut on_the_way = FuturesUnordered::new();
    let mut submitted = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some((file, run, outcome)) = on_the_way.next() => {
                note(report, &mut submitted, file, run, outcome?);
            }
            read = reads.next(), if on_the_way.len() < AT_ONCE => match read {
                Some(Read::Run(run)) => {
                    let file = report.count_run();
                    on_the_way.push(submit(client, file, run));
                }
                Some(other) => report.read(other, progress),
                None if on_the_way.is_empty() => return Ok(submitted),
                None => {
                    while let Some((file, run, outcome)) = on_the_way.next().await {
                        note(report, &mut submitted, file, run, outcome?);
                    }
                    return Ok(submitted);
                }
            },
        }
    }
}

fn note(report: &mut Report, submitted: &mut Vec<Submitted>, file: usize, run: Submitted, outcome: Outcome) {
    match outcome {
        Outcome::Submitted => {
            report.submitted += 1;
            submitted.push(run);
        }
        Outcome::Grown => {
            report.grown += 1;
            submitted.push(run);
        }
        Outcome::AlreadyThere => report.already_there += 1,
        Outcome::Shrunk(steps_then) => {
            report.changed.push(Changed { trace_id: run.trace_id, steps_then, steps_now: run.steps })
        }
        Outcome::Refused(reason) => {
            let path = report.path(file);
            report.refused.push(Refusal { path, trace_id: run.trace_id, reason });
        }
    }
}

async fn submit(
    client: &Client,
    file: usize,
    run: Box<Trajectory>,
) -> (usize, Submitted, Result<Outcome, Failure>) {
    let user = match &run.scope.visibility {
        Visibility::User(user) => user.to_string(),
        _ => String::new(),
    };
    let steps = run.steps.len() as u32;
    let asked = Submitted { trace_id: run.trace_id.to_string(), user, steps };
    let outcome = match former(client, &asked).await {
        Ok(Some(steps_then)) if steps_then == steps => Ok(Outcome::AlreadyThere),
        Ok(Some(steps_then)) if steps_then > steps => Ok(Outcome::Shrunk(steps_then)),
        Ok(former) => {
            let trajectory = Some(trajectory_to_proto(&run));
            let request = SubmitTrajectoryRequest { trajectory, ..SubmitTrajectoryRequest::default() };
            match client.submit_trajectory(request).await {
                Ok(_) if former.is_some() => Ok(Outcome::Grown),
                Ok(_) => Ok(Outcome::Submitted),
                Err(e) if matches!(e.code, Code::InvalidArgument | Code::AlreadyExists) => {
                    Ok(Outcome::Refused(e.to_string()))
                }
                Err(e) => Err(e.into()),
            }
        }
        Err(e) => Err(e.into()),
    };
    (file, asked, outcome)
}

/// The number of steps of a run of this name that was taken in before and came to an end. What still
/// waits for steps is sent again, which completes it.
async fn former(client: &Client, run: &Submitted) -> Result<Option<u32>, Error> {
    let request = GetEvaluationRequest { trace_id: run.trace_id.clone(), user: run.user.clone() };
    match client.get_evaluation(request).await {
        Ok(found) => Ok(found.record.filter(|r| r.state() != EvaluationState::Waiting).map(|r| r.step_count)),
        // A collector that stands alone cannot tell, and taking a run in again changes nothing.
        Err(e) if matches!(e.code, Code::NotFound | Code::Unimplemented) => Ok(None),
        Err(e) => Err(e),
    }
}
