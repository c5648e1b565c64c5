//! `RecordEvents`: takes what has arrived, makes it durable, acknowledges, and only then takes more. The
//! client's flow control does the rest, so a slow disk never fills the memory.

use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use hindsight_api::status;
use hindsight_ingest::{redact, validate};
use hindsight_ports::{Bus, BusError, Clock, Envelope, Queue};
use hindsight_proto::collector::v1::{RecordEventsRequest, RecordEventsResponse, Rejection};
use hindsight_types::{Event, Invalid, TenantId, Timestamp, TraceId};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tracing::Instrument as _;

use super::{convert, off_thread, scopes::Scopes};
use crate::{
    NAME,
    message::{self, TraceContext},
};

/// Most events in one publish.
const BATCH: usize = 256;
/// Heavier batches are prepared on a blocking thread.
const HEAVY_BYTES: usize = 64 * 1024;
/// Answers that the client has not read; it must read before it can send more.
const ANSWERS: usize = 16;

pub(super) struct Recorder {
    bus: Arc<dyn Bus>,
    clock: Arc<dyn Clock>,
    open: Open,
}

/// What the stream has said so far.
struct Open {
    tenant: TenantId,
    trace_context: TraceContext,
    sequence: u64,
    scopes: Arc<Scopes>,
}

/// A batch that was read, with what is to be said about it.
#[derive(Default)]
struct Batch {
    messages: Vec<Envelope>,
    rejections: Vec<Rejection>,
}

impl Recorder {
    pub(super) fn new(
        tenant: TenantId,
        bus: Arc<dyn Bus>,
        clock: Arc<dyn Clock>,
        scopes: Arc<Scopes>,
        trace_context: TraceContext,
    ) -> Self {
        let open = Open { tenant, trace_context, sequence: 0, scopes };
        Self { bus, clock, open }
    }

    pub(super) fn start(
        self,
        requests: impl Stream<Item = Result<RecordEventsRequest, Status>> + Send + 'static,
        closing: CancellationToken,
    ) -> impl Stream<Item = Result<RecordEventsResponse, Status>> {
        let (answers, receiver) = mpsc::channel(ANSWERS);
        let drive = async move {
            let end = tokio::select! {
                end = self.drive(requests, &answers) => end,
                () = closing.cancelled() => Err(status::bus(NAME, BusError::Closed)),
            };
            if let Err(end) = end {
                // Fails only when the client is gone.
                let _ = answers.send(Err(end)).await;
            }
        };
        tokio::spawn(drive.in_current_span());
        ReceiverStream::new(receiver)
    }

    async fn drive(
        self,
        requests: impl Stream<Item = Result<RecordEventsRequest, Status>> + Send,
        answers: &mpsc::Sender<Result<RecordEventsResponse, Status>>,
    ) -> Result<(), Status> {
        let mut chunks = std::pin::pin!(requests.ready_chunks(BATCH));
        let mut open = self.open;
        while let Some(chunk) = chunks.next().await {
            let (mut events, mut broken) = (Vec::with_capacity(chunk.len()), None);
            for item in chunk {
                match item {
                    Ok(event) => events.push(event),
                    Err(e) => broken = broken.or(Some(e)),
                }
            }
            if !events.is_empty() {
                let (next, batch) = read(open, events, self.clock.now()).await?;
                open = next;
                self.bus.publish(Queue::Ingest, batch.messages).await.map_err(|e| status::bus(NAME, e))?;
                let answer = RecordEventsResponse {
                    acknowledged_sequence: open.sequence,
                    rejections: batch.rejections,
                };
                if answers.send(Ok(answer)).await.is_err() {
                    return Ok(());
                }
            }
            if let Some(e) = broken {
                return Err(e);
            }
        }
        Ok(())
    }
}

async fn read(
    open: Open,
    requests: Vec<RecordEventsRequest>,
    now: Timestamp,
) -> Result<(Open, Batch), Status> {
    let weight: usize = requests.iter().map(RecordEventsRequest::encoded_len).sum();
    if weight > HEAVY_BYTES {
        off_thread(move || open.read(requests, now)).await
    } else {
        Ok(open.read(requests, now))
    }
}

impl Open {
    fn read(mut self, requests: Vec<RecordEventsRequest>, now: Timestamp) -> (Self, Batch) {
        let mut batch = Batch::default();
        for request in requests {
            let sequence = request.sequence;
            match self.event(request, now) {
                Ok(event) => batch.messages.push(message::of_event(&event, &self.trace_context)),
                Err(e) => batch.rejections.push(convert::rejection(sequence, &e)),
            }
            self.sequence = self.sequence.max(sequence);
        }
        (self, batch)
    }

    fn event(&mut self, request: RecordEventsRequest, now: Timestamp) -> Result<Event, Invalid> {
        if request.sequence <= self.sequence {
            let problem =
                format!("is {}; it rises from 1, and {} was before it", request.sequence, self.sequence);
            return Err(Invalid::new("sequence", problem));
        }
        let inherited = |trace: &TraceId| self.scopes.of(&self.tenant, trace);
        let mut event = convert::event(&self.tenant, request, inherited, now)?;
        validate::event(&event)?;
        redact::event(&mut event);
        self.scopes.learn(&event);
        Ok(event)
    }
}
