//! Messages that were set aside. Those of the subject are not kept for somebody to replay.

use hindsight_codec::{event_from_proto, fact_from_proto, schema, scope_from_proto};
use hindsight_ports::{Envelope, Queue};
use hindsight_proto::event::v1::{EvaluationRequested, EventRecorded, FactRetained};
use hindsight_types::{Forgetting, Subject, TraceId};
use prost::Message as _;

use crate::{Arriving, Forgetter, Trouble, of_event, of_fact};

/// Most letters of a queue that are looked at.
const LETTERS: usize = 10_000;

/// Says how many there were.
pub(crate) async fn discard(forgetter: &Forgetter, f: &Forgetting) -> Result<u64, Trouble> {
    let mut discarded = 0;
    for queue in [Queue::Ingest, Queue::Evaluate] {
        let letters = forgetter.bus.dead_letters(queue, LETTERS).await?;
        let read = letters.iter().map(|letter| &letter.envelope).filter(|e| e.tenant == f.scope.tenant);
        let (ids, arriving): (Vec<_>, Vec<_>) = read.filter_map(|e| Some((e.id, read_letter(e)?))).unzip();
        let forgotten = forgetter.forgotten(&f.scope.tenant, &arriving).await?;
        for (id, _) in ids.into_iter().zip(forgotten).filter(|(_, forgotten)| forgotten.is_some()) {
            discarded += u64::from(forgetter.bus.discard(queue, id).await?);
        }
    }
    Ok(discarded)
}

/// `None`: it carries nothing of anybody.
fn read_letter(envelope: &Envelope) -> Option<Arriving> {
    let (tenant, payload) = (&envelope.tenant, envelope.payload.as_slice());
    match envelope.schema.as_str() {
        schema::EVENT_RECORDED => {
            Some(of_event(&event_from_proto(tenant, EventRecorded::decode(payload).ok()?).ok()?))
        }
        schema::FACT_RETAINED => {
            Some(of_fact(&fact_from_proto(tenant, FactRetained::decode(payload).ok()?.fact?).ok()?))
        }
        schema::EVALUATION_REQUESTED => {
            let request = EvaluationRequested::decode(payload).ok()?;
            let scope = scope_from_proto(tenant, request.scope).ok()?;
            let mut subjects = vec![Subject::Run(TraceId::new(request.trace_id).ok()?)];
            subjects.extend(scope.user().cloned().map(Subject::User));
            Some(Arriving { subjects, recorded_at: envelope.occurred_at })
        }
        _ => None,
    }
}
