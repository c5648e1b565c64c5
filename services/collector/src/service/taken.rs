//! Whether the name of a run that is submitted is that of another run: ids of events follow from it, so what is there
//! would stay and the new run be lost in it. A courtesy: two that arrive at once are not told apart.

use std::{collections::HashMap, time::Duration};

use hindsight_api::status;
use hindsight_ports::StoreError;
use hindsight_types::{Event, EventBody, EventId, Scope, TraceId};
use tokio::time::timeout;
use tonic::{Code, Status};

use super::indexed::Indexed;
use crate::NAME;

/// A store that is away or slow must not hold up what the queue can take.
const PATIENCE: Duration = Duration::from_millis(250);

/// Refuses a run when what is stored under its name is another's or of another task.
pub(super) async fn refuse(
    indexed: &Indexed,
    scope: &Scope,
    trace: &TraceId,
    events: &[Event],
) -> Result<(), Status> {
    let look = async {
        let stored = indexed.store.trace_events(&scope.tenant, trace).await?;
        // Of a user who turned out to be another, events are the other's.
        let whose = if stored.is_empty() { scope.clone() } else { indexed.whose(scope).await? };
        Ok::<_, StoreError>(difference(&stored, &whose, events))
    };
    match timeout(PATIENCE, look).await {
        Ok(Ok(Some(what))) => Err(taken(trace, &what)),
        Ok(Ok(None)) => Ok(()),
        // What is acknowledged needs the queue alone.
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// A run may be submitted again, and again with more steps. Results and texts may change, as rules of redaction do.
fn difference(stored: &[Event], scope: &Scope, events: &[Event]) -> Option<String> {
    let stored: HashMap<EventId, &Event> = stored.iter().map(|event| (event.event_id, event)).collect();
    let mut pairs = events.iter().filter_map(|now| Some((*stored.get(&now.event_id)?, now)));
    pairs.find_map(|(before, now)| match (&before.body, &now.body) {
        _ if before.scope != *scope => Some("it belongs to another scope".to_owned()),
        (EventBody::Started(a), EventBody::Started(b)) if a.goal != b.goal => {
            Some("its goal is another".to_owned())
        }
        (EventBody::Step(a), EventBody::Step(b)) if a.action_name != b.action_name => {
            Some(format!("its step {} calls another tool", a.step_index))
        }
        _ => None,
    })
}

fn taken(trace: &TraceId, what: &str) -> Status {
    let message =
        format!("trajectory.trace_id: `{trace}` is the name of a run recorded before: {what}; use a new id");
    status::error(NAME, Code::AlreadyExists, "TRACE_ID_TAKEN", message, [("trace_id", trace.to_string())])
}
