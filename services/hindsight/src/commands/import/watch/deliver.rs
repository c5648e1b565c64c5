//! Hands events to the server. While it is away they wait here, and with them everything after: nothing is read
//! further than the server has confirmed, so nothing is lost and nothing piles up.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::stream;
use hindsight_client::{Client, Error, WRITE_DEADLINE};
use hindsight_codec::event_to_proto;
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, Rejection, record_events_request::Body},
    event::v1::event_recorded,
};
use hindsight_runtime::StopSignal;
use hindsight_types::Event;
use hindsight_wiring::Failure;
use prost::Message as _;
use tonic::Code;

use super::say::{self, Say};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long what is on its way may take once a stop is asked for.
const GRACE: Duration = Duration::from_secs(10);
/// Events and bytes on their way at a time.
const AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// The watcher is stopped while the server is away.
#[derive(Debug)]
pub(super) enum Undelivered {
    Stopped,
    Failed(Failure),
}

impl From<Failure> for Undelivered {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

pub(super) struct Deliverer {
    pub client: Client,
    pub stop: StopSignal,
}

impl Deliverer {
    /// Returns once all are confirmed.
    pub(super) async fn deliver(&self, events: &[Event], say: &mut Say) -> Result<(), Undelivered> {
        let requests: Vec<RecordEventsRequest> = events.iter().map(request).collect();
        let mut rest = &requests[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |r: &&RecordEventsRequest| {
                bytes += r.encoded_len();
                bytes <= BYTES_AT_ONCE
            };
            let n = rest.iter().take(AT_ONCE).take_while(fits).count().max(1);
            let (batch, after) = rest.split_at(n);
            self.batch(batch, say).await?;
            rest = after;
        }
        Ok(())
    }

    async fn batch(&self, batch: &[RecordEventsRequest], say: &mut Say) -> Result<(), Undelivered> {
        let backoff = || {
            let pauses =
                ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE);
            pauses.with_jitter().without_max_times().build()
        };
        let mut pauses = backoff();
        let mut away = false;
        loop {
            let sent = tokio::select! {
                sent = self.send(batch) => sent,
                () = self.patience() => return Err(Undelivered::Stopped),
            };
            let error = match sent {
                Ok(rejections) => {
                    if away {
                        say.event(&say::Event::Back)?;
                    }
                    for r in rejections {
                        let trace_id =
                            batch.iter().find(|e| e.sequence == r.sequence).map(|e| e.trace_id.as_str());
                        let trace_id = trace_id.unwrap_or_default();
                        say.event(&say::Event::Refused { trace_id, reason: &r.message })?;
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            if is_final(&error) {
                return Err(Failure::from(error).into());
            }
            if self.stop.is_requested() {
                return Err(Undelivered::Stopped);
            }
            away = true;
            let own = pauses.next().unwrap_or(LONGEST_PAUSE);
            let pause = error.retry_after.unwrap_or(own).min(LONGEST_PAUSE);
            say.event(&say::Event::Waiting { reason: &error.to_string(), again_in_s: pause.as_secs_f64() })?;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.requested() => {}
            }
        }
    }

    /// Ends some time after a stop is asked for.
    async fn patience(&self) {
        self.stop.requested().await;
        tokio::time::sleep(GRACE).await;
    }

    /// One stream for a batch: sent again as a whole when it breaks, which changes nothing.
    async fn send(&self, batch: &[RecordEventsRequest]) -> Result<Vec<Rejection>, Error> {
        let batch: Vec<RecordEventsRequest> = batch
            .iter()
            .zip(1..)
            .map(|(r, sequence)| RecordEventsRequest { sequence, ..r.clone() })
            .collect();
        let last = batch.len() as u64;
        let exchange = async {
            let mut answers = self.client.collector().record_events(stream::iter(batch)).await?.into_inner();
            let mut rejections = Vec::new();
            while let Some(answer) = answers.message().await? {
                rejections.extend(answer.rejections);
                if answer.acknowledged_sequence >= last {
                    return Ok(rejections);
                }
            }
            Err(tonic::Status::unavailable("the stream ended before everything was confirmed"))
        };
        match tokio::time::timeout(WRITE_DEADLINE, exchange).await {
            Ok(answer) => answer.map_err(Error::from),
            Err(_) => Err(tonic::Status::unavailable("no answer in time").into()),
        }
    }
}

/// Whether trying again cannot help.
fn is_final(error: &Error) -> bool {
    matches!(
        error.code,
        Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument | Code::Unimplemented
    )
}

/// As the server wants it. It derives the ids of events by itself, from the tenant of the caller.
fn request(event: &Event) -> RecordEventsRequest {
    let event = event_to_proto(event);
    RecordEventsRequest {
        sequence: 0,
        event_id: String::new(),
        scope: event.scope,
        trace_id: event.trace_id,
        recorded_at: event.recorded_at,
        body: event.body.and_then(|body| match body {
            event_recorded::Body::Started(s) => Some(Body::Started(s)),
            event_recorded::Body::Step(s) => Some(Body::Step(s)),
            event_recorded::Body::Completed(c) => Some(Body::Completed(c)),
            // A file makes none.
            event_recorded::Body::Span(_) => None,
        }),
    }
}
