//! Deleting memories, forgetting users, and the proof.

use std::time::Duration;

use hindsight_api::{Caller, Permission, status};
use hindsight_codec::{forgetting_to_proto, memory_kind_from_proto};
use hindsight_forgetting::{Forgetter, Trouble};
use hindsight_proto::memory::v1::{self as pb, forget_subject_response::Outcome};
use hindsight_types::{
    Forgetting, ForgettingId, Invalid, Memory, MemoryId, MemoryKind, MergeState, Scope, Subject,
    SubjectMerge, TenantId, UserId, Viewer, Visibility,
};
use tonic::{Code, Status};

use super::{Memories, history::reason, invalid, store};
use crate::{NAME, ask::viewer};

/// A UUID in text.
const REQUEST_ID_BYTES: usize = 36;
/// How long a call deletes before it answers; a worker goes on.
const AT_ONCE: Duration = Duration::from_secs(2);

impl Memories {
    pub(super) async fn delete(
        &self,
        caller: Caller,
        request: pb::DeleteMemoryRequest,
    ) -> Result<pb::DeleteMemoryResponse, Status> {
        caller.require(Permission::Admin)?;
        let pb::DeleteMemoryRequest { kind, memory_id, user, reason: why, request_id } = request;
        let kind = memory_kind_from_proto(kind).map_err(invalid)?;
        if kind == MemoryKind::Step {
            let problem = "a step goes with its run: delete the experience";
            return Err(invalid(Invalid::new("kind", problem)));
        }
        let id = MemoryId::parse(&memory_id).map_err(invalid)?;
        let reason = reason(&why, true).map_err(invalid)?;
        let forgetting = requested(&caller.tenant, &request_id).map_err(invalid)?;
        let viewer = viewer(caller.tenant.clone(), user).map_err(invalid)?;
        let forgetter = self.forgetter()?;
        // The same request again goes on, though the memory is gone.
        let begun = forgetter.forget.forgetting(&caller.tenant, forgetting).await.map_err(store)?;
        let subject = match begun {
            Some(begun) if names(&begun, kind, id) => begun.subject,
            _ => match self.held(&viewer, kind, id).await? {
                Memory::Experience(experience) => Subject::Run(experience.trajectory.trace_id),
                _ => Subject::Memory(kind, id),
            },
        };
        let f = self.carry_out(forgetter, &caller, forgetting, subject, reason).await?;
        Ok(pb::DeleteMemoryResponse { forgetting: Some(forgetting_to_proto(&f)) })
    }

    pub(super) async fn forget(
        &self,
        caller: Caller,
        request: pb::ForgetSubjectRequest,
    ) -> Result<pb::ForgetSubjectResponse, Status> {
        caller.require(Permission::Admin)?;
        let pb::ForgetSubjectRequest { user, reason: why, request_id, validate_only } = request;
        let user = UserId::new(user).map_err(invalid)?;
        self.stands_alone(&caller.tenant, &user).await?;
        let subject = Subject::User(user);
        let forgetter = self.forgetter()?;
        if validate_only {
            let preview = forgetter.forget.preview(&caller.tenant, &subject, self.clock.now());
            let preview = preview.await.map_err(store)?;
            let preview = pb::ForgettingPreview {
                removed: preview.removed.into_iter().collect(),
                rederived: preview.rederived,
            };
            return Ok(pb::ForgetSubjectResponse { outcome: Some(Outcome::Preview(preview)) });
        }
        let reason = reason(&why, true).map_err(invalid)?;
        let id = requested(&caller.tenant, &request_id).map_err(invalid)?;
        let f = self.carry_out(forgetter, &caller, id, subject, reason).await?;
        Ok(pb::ForgetSubjectResponse { outcome: Some(Outcome::Forgetting(forgetting_to_proto(&f))) })
    }

    pub(super) async fn forgetting(
        &self,
        caller: Caller,
        request: pb::GetForgettingRequest,
    ) -> Result<pb::GetForgettingResponse, Status> {
        caller.require(Permission::Admin)?;
        let id = ForgettingId::parse(&request.forgetting_id).map_err(invalid)?;
        let found = self.forgetter()?.forget.forgetting(&caller.tenant, id).await.map_err(store)?;
        let found = found.ok_or_else(|| status::not_found(NAME, "forgetting", id))?;
        Ok(pb::GetForgettingResponse { forgetting: Some(forgetting_to_proto(&found)) })
    }

    /// The memory, wherever it is.
    async fn held(&self, viewer: &Viewer, kind: MemoryKind, id: MemoryId) -> Result<Memory, Status> {
        if let Some(found) = self.store.get(viewer, kind, id).await.map_err(store)? {
            return Ok(found);
        }
        let away = match &self.care.archive {
            Some(archive) => archive.away(viewer, id).await.map_err(store)?,
            None => None,
        };
        let found = away.map(|archived| archived.memory).filter(|memory| memory.kind() == kind);
        found.ok_or_else(|| status::not_found(NAME, "memory", id))
    }

    /// What was a merged user's is the other's now: forgetting the one would leave all of it, and end the merge's undoing.
    async fn stands_alone(&self, tenant: &TenantId, user: &UserId) -> Result<(), Status> {
        let Some(subjects) = &self.care.subjects else { return Ok(()) };
        let merge = subjects.merge_of(tenant, user).await.map_err(store)?;
        match merge.filter(|merge| matches!(merge.state, MergeState::Merging | MergeState::Merged)) {
            Some(merge) => Err(merged(&merge)),
            None => Ok(()),
        }
    }

    async fn carry_out(
        &self,
        forgetter: &Forgetter,
        caller: &Caller,
        id: ForgettingId,
        subject: Subject,
        reason: String,
    ) -> Result<Forgetting, Status> {
        let (tenant, by) = (caller.tenant.clone(), caller.key.to_string());
        let scope = Scope::new(tenant, Visibility::Tenant);
        let forgetting = Forgetting::begin(id, scope, subject.clone(), reason, by, self.clock.now());
        let begun = forgetter.begin(&forgetting).await.map_err(trouble)?;
        if begun.subject != subject {
            let problem = "was used for something else before; use a new UUID for each request";
            return Err(invalid(Invalid::new("request_id", problem)));
        }
        if begun.revision <= 1 {
            let (tenant, subject) = (&begun.scope.tenant, begun.subject.in_words());
            tracing::info!(%tenant, key = %caller.key, %id, subject, "to be forgotten");
        }
        forgetter.erase_for(begun, AT_ONCE).await.map_err(trouble)
    }

    fn forgetter(&self) -> Result<&Forgetter, Status> {
        let message = "this process was made without what it takes to forget";
        self.care.forgetter.as_ref().ok_or_else(|| Status::new(Code::Unimplemented, message))
    }
}

fn merged(merge: &SubjectMerge) -> Status {
    let SubjectMerge { from, to, .. } = merge;
    let message = format!(
        "`{from}` was merged into `{to}`, who has what was remembered: forget `{to}`, or undo the merge first"
    );
    let metadata = [("from", from.to_string()), ("to", to.to_string())];
    status::error(NAME, Code::FailedPrecondition, "SUBJECT_MERGED", message, metadata)
}

/// Whether a forgetting is of this memory.
fn names(begun: &Forgetting, kind: MemoryKind, id: MemoryId) -> bool {
    match &begun.subject {
        Subject::Run(trace) => MemoryId::experience(&begun.scope.tenant, trace) == id,
        subject => *subject == Subject::Memory(kind, id),
    }
}

fn requested(tenant: &TenantId, request_id: &str) -> Result<ForgettingId, Invalid> {
    if request_id.is_empty() || request_id.len() > REQUEST_ID_BYTES || !request_id.is_ascii() {
        let problem = format!("give a UUID; at most {REQUEST_ID_BYTES} characters of ASCII are accepted");
        return Err(Invalid::new("request_id", problem));
    }
    Ok(ForgettingId::of_request(tenant, request_id))
}

fn trouble(trouble: Trouble) -> Status {
    match trouble {
        Trouble::Store(error) => store(error),
        Trouble::Bus(error) => status::bus(NAME, error),
    }
}
