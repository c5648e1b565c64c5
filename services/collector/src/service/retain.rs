//! A fact from its request: checked, freed of secrets, gated, summarised, described.

use std::collections::BTreeMap;

use hindsight_ingest::{
    entities, redact,
    retain::{Trivial, gate, sort, summarise},
    validate,
};
use hindsight_proto::collector::v1::{
    NotRetained, NotRetainedReason, RetainRequest, RetainResponse, RetainResult,
};
use hindsight_types::{Fact, Invalid, MemoryId, SessionId, TenantId, Timestamp};
use uuid::Uuid;

use super::convert;

/// What becomes of a request that is sound.
pub(super) enum Taken {
    Fact(Box<Fact>),
    Trivial(Trivial),
}

/// When something arrived: to the microsecond, with its place in the batch in nanoseconds, of which a
/// microsecond holds more than a batch has places.
pub(super) fn arrival(now: Timestamp, place: usize) -> Timestamp {
    let nanos = now.as_nanosecond() - now.as_nanosecond().rem_euclid(1_000);
    Timestamp::from_nanosecond(nanos + place as i128).unwrap_or(now)
}

pub(super) fn take(tenant: &TenantId, request: RetainRequest, arrived: Timestamp) -> Result<Taken, Invalid> {
    let (force, states_type) = (request.force, request.r#type != 0);
    let mut fact = convert::fact(tenant, request, arrived)?;
    validate::fact(&fact)?;
    redact::fact(&mut fact);
    if !force && let Some(trivial) = gate(&fact) {
        return Ok(Taken::Trivial(trivial));
    }
    describe(&mut fact, states_type);
    Ok(Taken::Fact(Box::new(fact)))
}

/// Derives what the caller left open, from text that holds no secret any more: nothing can be guessed
/// back from a key.
fn describe(fact: &mut Fact, states_type: bool) {
    if fact.key.is_empty() {
        let session = fact.session.as_ref().map_or("", SessionId::as_str);
        let parts = [session, &fact.speaker, &fact.content];
        let name: String = parts.iter().map(|p| format!("{}:{p}", p.len())).collect();
        fact.key = Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string();
    }
    if let Some(user) = fact.scope.user() {
        fact.id = MemoryId::fact(&fact.scope.tenant, user, &fact.key);
    }
    if fact.entities.is_empty() {
        let captions = fact.attachments.iter().map(|a| a.caption.as_str());
        let said: Vec<&str> = std::iter::once(fact.content.as_str()).chain(captions).collect();
        fact.entities = entities::extract(&said.join("\n"));
    }
    if !states_type {
        fact.fact_type = sort(&fact.content);
    }
    if let Some(summary) = summarise(&fact.content) {
        fact.original = std::mem::replace(&mut fact.content, summary);
    }
}

impl Taken {
    pub(super) fn response(&self) -> RetainResponse {
        match self {
            Self::Fact(fact) => RetainResponse {
                memory_id: fact.id.to_string(),
                retained: true,
                not_retained: None,
                summarised: !fact.original.is_empty(),
            },
            Self::Trivial(trivial) => {
                RetainResponse { not_retained: Some(not_retained(*trivial)), ..Default::default() }
            }
        }
    }
}

/// The same as a line of a batch.
fn result(response: RetainResponse) -> RetainResult {
    let RetainResponse { memory_id, retained, not_retained, summarised } = response;
    RetainResult { memory_id, rejection: None, retained, not_retained, summarised }
}

/// A batch as it was taken: a result for each request, in order, and the facts to keep.
pub(super) struct Batch {
    pub(super) results: Vec<RetainResult>,
    /// Of two facts with one key the later.
    pub(super) facts: Vec<Fact>,
    /// Whether any of them waits until it can be found.
    pub(super) indexed: bool,
}

impl Batch {
    pub(super) fn take(tenant: &TenantId, requests: Vec<RetainRequest>, now: Timestamp) -> Self {
        let (mut results, mut facts) = (Vec::with_capacity(requests.len()), BTreeMap::new());
        let mut indexed = false;
        for (place, request) in requests.into_iter().enumerate() {
            let taken = convert::waits_for_index(request.consistency).and_then(|wait| {
                indexed |= wait;
                take(tenant, request, arrival(now, place))
            });
            results.push(match taken {
                Ok(taken) => {
                    let response = taken.response();
                    if let Taken::Fact(fact) = taken {
                        facts.insert(fact.id, *fact);
                    }
                    result(response)
                }
                Err(e) => {
                    let rejection = Some(convert::rejection(place as u64 + 1, &e));
                    RetainResult { rejection, ..Default::default() }
                }
            });
        }
        let mut facts: Vec<Fact> = facts.into_values().collect();
        facts.sort_by_key(|f| f.retained_at);
        Self { results, facts, indexed }
    }
}

fn not_retained(trivial: Trivial) -> NotRetained {
    let reason = match trivial {
        Trivial::Greeting => NotRetainedReason::Greeting,
        Trivial::Thanks => NotRetainedReason::Thanks,
        Trivial::Acknowledgement => NotRetainedReason::Acknowledgement,
        Trivial::Filler => NotRetainedReason::Filler,
        Trivial::NoWords => NotRetainedReason::NoWords,
    };
    NotRetained { reason: reason.into(), message: trivial.message().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_is_exact_to_the_microsecond_and_keeps_the_place() {
        let now: Timestamp = "2026-01-02T03:04:05.123456789Z".parse().unwrap();
        assert_eq!(arrival(now, 0).to_string(), "2026-01-02T03:04:05.123456Z");
        assert_eq!(arrival(now, 499).to_string(), "2026-01-02T03:04:05.123456499Z");
        let before_1970: Timestamp = "1969-01-02T03:04:05.123456789Z".parse().unwrap();
        assert_eq!(arrival(before_1970, 7).to_string(), "1969-01-02T03:04:05.123456007Z");
        assert_eq!(arrival(Timestamp::MAX, 499).as_microsecond(), Timestamp::MAX.as_microsecond());
    }
}
