//! What a memory says, changed by hand, and how it was before.

use hindsight_api::{Caller, page, status};
use hindsight_codec::{memory_kind_from_proto, memory_to_proto};
use hindsight_ingest::{context, encode, redact};
use hindsight_ports::{Encoding, History, Revised};
use hindsight_proto::memory::v1 as pb;
use hindsight_types::{
    Fact, Invalid, Memory, MemoryId, MemoryKind, Period, Revision, RevisionCause, Timestamp, VersionId,
    Viewer,
};
use tonic::{Code, Status};

use super::{Memories, invalid, request_id, store};
use crate::{NAME, ask::viewer, update::Update};

/// Longest reason, in bytes.
pub(super) const REASON_BYTES: usize = 4 * 1024;
/// Looks at a memory that others change meanwhile.
const TRIES: usize = 8;

/// Which memory is to be changed, by whom, why.
struct Order {
    viewer: Viewer,
    kind: MemoryKind,
    id: MemoryId,
    by: String,
    reason: String,
    etag: Option<VersionId>,
    request_id: String,
}

/// Fields that every change has.
struct Asked {
    memory_id: String,
    kind: i32,
    user: String,
    reason: String,
    etag: String,
    request_id: String,
}

impl Order {
    fn new(caller: Caller, asked: Asked) -> Result<Self, Invalid> {
        let etag = (!asked.etag.is_empty()).then(|| VersionId::parse("etag", &asked.etag)).transpose()?;
        request_id(&asked.request_id)?;
        Ok(Self {
            viewer: viewer(caller.tenant, asked.user)?,
            kind: changeable(asked.kind)?,
            id: MemoryId::parse(&asked.memory_id)?,
            by: caller.key.to_string(),
            reason: reason(&asked.reason, true)?,
            etag,
            request_id: asked.request_id,
        })
    }

    fn revision(&self, cause: RevisionCause, at: Timestamp) -> Revision {
        let (by, reason, request_id) = (self.by.clone(), self.reason.clone(), self.request_id.clone());
        Revision { at, cause, by, reason, request_id }
    }

    fn not_found(&self) -> Status {
        status::not_found(NAME, "memory", self.id)
    }

    fn aborted(&self, now: Option<VersionId>) -> Status {
        let message = "the memory was changed meanwhile; read it again and decide anew";
        let etag = now.map(|v| v.to_string()).unwrap_or_default();
        status::error(NAME, Code::Aborted, "ETAG_MISMATCH", message, [("etag", etag)])
    }
}

/// The words of a reason, freed of secrets.
pub(super) fn reason(reason: &str, required: bool) -> Result<String, Invalid> {
    if required && reason.trim().is_empty() {
        return Err(Invalid::new("reason", "is required: say why, it is kept with the change"));
    }
    if reason.len() > REASON_BYTES {
        let problem = format!("is {} bytes long; at most {REASON_BYTES} are accepted", reason.len());
        return Err(Invalid::new("reason", problem));
    }
    Ok(redact::text(reason).into_owned())
}

fn changeable(kind: i32) -> Result<MemoryKind, Invalid> {
    match memory_kind_from_proto(kind)? {
        kind @ (MemoryKind::Fact | MemoryKind::Lesson) => Ok(kind),
        _ => Err(Invalid::new("kind", "must be FACT or LESSON: no others are changed by hand")),
    }
}

impl Memories {
    pub(super) async fn update(
        &self,
        caller: Caller,
        request: pb::UpdateMemoryRequest,
    ) -> Result<pb::UpdateMemoryResponse, Status> {
        let pb::UpdateMemoryRequest { memory_id, kind, user, memory, update_mask, reason, etag, request_id } =
            request;
        let asked = Asked { memory_id, kind, user, reason, etag, request_id };
        let paths = update_mask.map(|m| m.paths).unwrap_or_default();
        let update = Update::new(memory, &paths).map_err(invalid)?;
        let order = Order::new(caller, asked).map_err(invalid)?;
        let now = self.clock.now();
        let apply = |stored: &Memory| update.apply(stored, now);
        let memory = self.change(&order, RevisionCause::Updated, now, apply).await?;
        Ok(pb::UpdateMemoryResponse { etag: etag_of(&memory), memory: Some(memory_to_proto(&memory)) })
    }

    pub(super) async fn restore(
        &self,
        caller: Caller,
        request: pb::RestoreMemoryRequest,
    ) -> Result<pb::RestoreMemoryResponse, Status> {
        let pb::RestoreMemoryRequest { memory_id, kind, user, version, reason, etag, request_id } = request;
        let wanted = VersionId::parse("version", &version).map_err(invalid)?;
        let asked = Asked { memory_id, kind, user, reason, etag, request_id };
        let order = Order::new(caller, asked).map_err(invalid)?;
        let former = self.history()?.version(&order.viewer, order.kind, order.id, wanted).await;
        let former = former.map_err(store)?.ok_or_else(|| status::not_found(NAME, "version", wanted))?;
        let apply = |stored: &Memory| Ok(as_before(stored, &former));
        let memory = self.change(&order, RevisionCause::Restored, self.clock.now(), apply).await?;
        Ok(pb::RestoreMemoryResponse { etag: etag_of(&memory), memory: Some(memory_to_proto(&memory)) })
    }

    /// Reads, applies, and writes if nobody was quicker; otherwise again. What changes nothing is not written.
    async fn change(
        &self,
        order: &Order,
        cause: RevisionCause,
        now: Timestamp,
        apply: impl Fn(&Memory) -> Result<Memory, Invalid>,
    ) -> Result<Memory, Status> {
        let history = self.history()?;
        for _ in 0..TRIES {
            let Some(stored) = self.store.get(&order.viewer, order.kind, order.id).await.map_err(store)?
            else {
                return Err(order.not_found());
            };
            if let Some(made) = self.made_before(history, order).await? {
                if apply(&made).map_err(invalid)? != made {
                    return Err(invalid(Invalid::new("request_id", "was used for another change")));
                }
                if let Memory::Fact(fact) = &stored {
                    self.surround(&order.viewer, fact).await?;
                }
                return Ok(stored);
            }
            if order.etag.is_some() && order.etag != stored.version() {
                return Err(order.aborted(stored.version()));
            }
            let mut next = apply(&stored).map_err(invalid)?;
            if next == stored {
                return Ok(stored);
            }
            next.set_revision(order.revision(cause, now));
            let encoding = self.encoding(&stored, &next).await?;
            match history.revise(&stored, &next, encoding.as_ref()).await.map_err(store)? {
                Revised::Done => {
                    let (memory, by) = (order.id.to_string(), order.by.as_str());
                    tracing::info!(memory, by, cause = cause.as_str(), "a memory was changed by hand");
                    return self.after(order, &stored, next).await;
                }
                Revised::Changed => {}
                Revised::Gone => return Err(order.not_found()),
            }
        }
        Err(order.aborted(None))
    }

    async fn made_before(&self, history: &dyn History, order: &Order) -> Result<Option<Memory>, Status> {
        if order.request_id.is_empty() {
            return Ok(None);
        }
        history.made_by(&order.viewer, order.kind, order.id, &order.request_id).await.map_err(store)
    }

    /// `None`: the text is as before.
    async fn encoding(&self, stored: &Memory, next: &Memory) -> Result<Option<Encoding>, Status> {
        if stored.indexed_text() == next.indexed_text() {
            return Ok(None);
        }
        let encoded = encode::memories(&*self.embedder, vec![next.clone()]).await;
        let encoded = encoded.map_err(|e| status::embed(NAME, e))?;
        Ok(encoded.into_iter().next().map(|e| e.encoding))
    }

    /// What is stored after a change; the turns beside a fact are told of its new words.
    async fn after(&self, order: &Order, before: &Memory, next: Memory) -> Result<Memory, Status> {
        if let (Memory::Fact(before), Memory::Fact(next)) = (before, &next)
            && before.said() != next.said()
        {
            self.surround(&order.viewer, next).await?;
        }
        let stored = self.store.get(&order.viewer, order.kind, order.id).await.map_err(store)?;
        // Gone again, or said anew: the answer is what this change made.
        Ok(stored.filter(|m| m.revision().is_some_and(|r| r.by == order.by)).unwrap_or(next))
    }

    /// Brings what stands around the turns beside `fact` up to its words.
    async fn surround(&self, viewer: &Viewer, fact: &Fact) -> Result<(), Status> {
        let Some(session) = &fact.session else { return Ok(()) };
        let at = fact.occurred_at;
        let after = at.checked_add(std::time::Duration::from_micros(1)).unwrap_or(Timestamp::MAX);
        let span = Period { from: at, until: after };
        for _ in 0..TRIES {
            let turns = self.store.session_facts(viewer, session, span, context::REACH).await;
            let changed = context::changed(turns.map_err(store)?, at, at);
            if changed.is_empty() {
                return Ok(());
            }
            let changed = changed.into_iter().map(Memory::Fact).collect();
            let encoded = encode::memories(&*self.embedder, changed).await;
            let encoded = encoded.map_err(|e| status::embed(NAME, e))?;
            self.store.upsert(&encoded).await.map_err(store)?;
        }
        Ok(())
    }

    pub(super) async fn history_page(
        &self,
        caller: Caller,
        request: pb::GetMemoryHistoryRequest,
    ) -> Result<pb::GetMemoryHistoryResponse, Status> {
        let pb::GetMemoryHistoryRequest { memory_id, kind, user, page_size, page_token } = request;
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let id = MemoryId::parse(&memory_id).map_err(invalid)?;
        let kind = changeable(kind).map_err(invalid)?;
        let page = page(page_size, page_token).map_err(invalid)?;
        let present = self.store.get(&viewer, kind, id).await.map_err(store)?;
        let present = present.ok_or_else(|| status::not_found(NAME, "memory", id))?;
        let former = self.history()?.history(&viewer, kind, id, &page).await.map_err(store)?;
        Ok(pb::GetMemoryHistoryResponse {
            present: Some(version(&present)),
            former: former.items.iter().map(version).collect(),
            next_page_token: former.next_token,
        })
    }
}

/// `stored` as it was in `former`; whose it is and what its runs say of it stay.
fn as_before(stored: &Memory, former: &Memory) -> Memory {
    match (stored, former) {
        (Memory::Fact(stored), Memory::Fact(former)) => Memory::Fact(Fact {
            surroundings: stored.surroundings.clone(),
            retained_at: stored.retained_at,
            revision: stored.revision.clone(),
            ..former.clone()
        }),
        (Memory::Lesson(stored), Memory::Lesson(former)) => Memory::Lesson(hindsight_types::Lesson {
            situation: former.situation.clone(),
            advice: former.advice.clone(),
            applicability: former.applicability.clone(),
            entities: former.entities.clone(),
            ..stored.clone()
        }),
        _ => stored.clone(),
    }
}

fn version(memory: &Memory) -> pb::MemoryVersion {
    pb::MemoryVersion { version: etag_of(memory), memory: Some(memory_to_proto(memory)) }
}

pub(super) fn etag_of(memory: &Memory) -> String {
    memory.version().map(|v| v.to_string()).unwrap_or_default()
}
