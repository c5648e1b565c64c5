//! The calls of `OperationsService`.

mod embedder;
mod runs;

use std::sync::Arc;

use hindsight_api::{Caller, Permission, caller, page, status};
use hindsight_codec::{
    event_from_proto, event_to_proto, fact_from_proto, fact_to_proto, schema, time_to_proto,
};
use hindsight_ingest::redact;
use hindsight_ports::{BusError, DeadLetter, Envelope, Queue};
use hindsight_proto::{
    event::v1::{CompactionRequested, EventRecorded, FactRetained},
    operations::v1::{
        self as pb, DiscardDeadLettersRequest, DiscardDeadLettersResponse, GetDeadLetterRequest,
        GetDeadLetterResponse, GetEmbedderRequest, GetEmbedderResponse, ListDeadLettersRequest,
        ListDeadLettersResponse, ReplayDeadLettersRequest, ReplayDeadLettersResponse, WorkQueue,
        get_dead_letter_response::Content, operations_service_server::OperationsService,
    },
};
use hindsight_types::Invalid;
use prost::Message;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use crate::{NAME, letters::Letters, reembed::Reembedder};

pub(crate) use runs::Runs;

/// Most letters named in one request.
const NAMED: usize = 500;

pub(crate) struct Service {
    pub(crate) letters: Letters,
    pub(crate) reembedder: Arc<Reembedder>,
}

fn invalid(e: Invalid) -> Status {
    status::invalid(NAME, &e)
}

fn bus(e: BusError) -> Status {
    status::bus(NAME, e)
}

fn operator<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = caller(request)?;
    caller.require(Permission::Admin)?;
    Ok(caller)
}

fn queues(queue: i32) -> Result<Vec<Queue>, Status> {
    match WorkQueue::try_from(queue) {
        Ok(WorkQueue::Unspecified) => Ok(Queue::ALL.to_vec()),
        Ok(WorkQueue::Ingest) => Ok(vec![Queue::Ingest]),
        Ok(WorkQueue::Evaluate) => Ok(vec![Queue::Evaluate]),
        Ok(WorkQueue::Compact) => Ok(vec![Queue::Compact]),
        Err(_) => Err(invalid(Invalid::new("queue", format!("{queue} is not a value of this enum")))),
    }
}

fn id(field: &str, text: &str) -> Result<Uuid, Status> {
    let problem = |_| invalid(Invalid::new(field, "is not the id of a dead letter; give it as it is listed"));
    Uuid::parse_str(text).map_err(problem)
}

fn ids(texts: &[String]) -> Result<Vec<Uuid>, Status> {
    if texts.len() > NAMED {
        let problem = format!("has {}; at most {NAMED} are accepted at a time", texts.len());
        return Err(invalid(Invalid::new("ids", problem)));
    }
    texts.iter().enumerate().map(|(i, text)| id(&format!("ids[{i}]"), text)).collect()
}

fn letter(l: &DeadLetter, history: bool) -> pb::DeadLetter {
    let queue = match l.queue {
        Queue::Ingest => WorkQueue::Ingest,
        Queue::Evaluate => WorkQueue::Evaluate,
        Queue::Compact => WorkQueue::Compact,
    };
    pb::DeadLetter {
        id: l.envelope.id.to_string(),
        queue: queue.into(),
        schema: l.envelope.schema.clone(),
        reason: l.reason.clone(),
        history: if history { l.history.clone() } else { Vec::new() },
        attempts: l.attempts,
        occurred_at: Some(time_to_proto(l.envelope.occurred_at)),
        died_at: Some(time_to_proto(l.died_at)),
        payload_bytes: l.envelope.payload.len() as u64,
    }
}

/// What a message carries. It was redacted before it came to the bus; what was put there by other means is
/// redacted here.
fn content(envelope: &Envelope) -> Content {
    let read = match envelope.schema.as_str() {
        schema::EVENT_RECORDED => decode::<EventRecorded>(envelope).and_then(|event| {
            let mut event = event_from_proto(&envelope.tenant, event).map_err(|e| e.to_string())?;
            redact::event(&mut event);
            Ok(Content::Event(event_to_proto(&event)))
        }),
        schema::FACT_RETAINED => decode::<FactRetained>(envelope).and_then(|retained| {
            let fact = retained.fact.ok_or("it carries no fact")?;
            let mut fact = fact_from_proto(&envelope.tenant, fact).map_err(|e| e.to_string())?;
            redact::fact(&mut fact);
            Ok(Content::Fact(fact_to_proto(&fact)))
        }),
        schema::EVALUATION_REQUESTED => decode(envelope).map(Content::Evaluation),
        schema::COMPACTION_REQUESTED => decode::<CompactionRequested>(envelope)
            .and_then(|asked| asked.task.map(Content::Compaction).ok_or("it carries no task".to_owned())),
        other => Err(format!("messages of type `{other}` are not known here")),
    };
    read.unwrap_or_else(Content::Unreadable)
}

fn decode<M: Message + Default>(envelope: &Envelope) -> Result<M, String> {
    M::decode(envelope.payload.as_slice()).map_err(|e| format!("it cannot be decoded: {e}"))
}

#[tonic::async_trait]
impl OperationsService for Service {
    async fn list_dead_letters(
        &self,
        request: Request<ListDeadLettersRequest>,
    ) -> Result<Response<ListDeadLettersResponse>, Status> {
        let tenant = operator(&request)?.tenant;
        let ListDeadLettersRequest { queue, page_size, page_token } = request.into_inner();
        let page = page(page_size, page_token).map_err(invalid)?;
        let listed =
            self.letters.list(&tenant, &queues(queue)?, &page).await.map_err(bus)?.map_err(invalid)?;
        Ok(Response::new(ListDeadLettersResponse {
            letters: listed.letters.iter().map(|l| letter(l, false)).collect(),
            next_page_token: listed.next_token,
            truncated: listed.truncated,
        }))
    }

    async fn get_dead_letter(
        &self,
        request: Request<GetDeadLetterRequest>,
    ) -> Result<Response<GetDeadLetterResponse>, Status> {
        let tenant = operator(&request)?.tenant;
        let request = request.into_inner();
        let id = id("id", &request.id)?;
        let found = self.letters.get(&tenant, &queues(request.queue)?, id).await.map_err(bus)?;
        let found = found.ok_or_else(|| status::not_found(NAME, "dead letter", id))?;
        Ok(Response::new(GetDeadLetterResponse {
            letter: Some(letter(&found, true)),
            content: Some(content(&found.envelope)),
        }))
    }

    async fn replay_dead_letters(
        &self,
        request: Request<ReplayDeadLettersRequest>,
    ) -> Result<Response<ReplayDeadLettersResponse>, Status> {
        let caller = operator(&request)?;
        let request = request.into_inner();
        let (queues, ids) = (queues(request.queue)?, ids(&request.ids)?);
        let replayed = if ids.is_empty() {
            self.letters.replay_all(&caller.tenant, &queues).await
        } else {
            self.letters.replay(&caller.tenant, &queues, &ids).await
        };
        let replayed = replayed.map_err(bus)?;
        tracing::info!(tenant = %caller.tenant, key = &*caller.key, replayed, "dead letters were replayed");
        Ok(Response::new(ReplayDeadLettersResponse { replayed }))
    }

    async fn discard_dead_letters(
        &self,
        request: Request<DiscardDeadLettersRequest>,
    ) -> Result<Response<DiscardDeadLettersResponse>, Status> {
        let caller = operator(&request)?;
        let request = request.into_inner();
        let (queues, ids) = (queues(request.queue)?, ids(&request.ids)?);
        if ids.is_empty() {
            return Err(invalid(Invalid::new("ids", "is required: nothing is discarded unseen")));
        }
        let discarded = self.letters.discard(&caller.tenant, &queues, &ids).await.map_err(bus)?;
        tracing::warn!(tenant = %caller.tenant, key = &*caller.key, discarded, "dead letters were discarded");
        Ok(Response::new(DiscardDeadLettersResponse { discarded }))
    }

    async fn get_embedder(
        &self,
        request: Request<GetEmbedderRequest>,
    ) -> Result<Response<GetEmbedderResponse>, Status> {
        operator(&request)?;
        let vectors = self.reembedder.vectors.vectors().await.map_err(|e| status::store(NAME, e))?;
        Ok(Response::new(embedder::response(&vectors, self.reembedder.trouble.reason())))
    }
}
