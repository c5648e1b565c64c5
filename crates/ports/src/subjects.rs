use std::collections::BTreeSet;

use async_trait::async_trait;
use hindsight_types::{MergeState, Scope, SubjectMerge, TenantId, Timestamp, UserId};

use crate::StoreError;

/// Longest chain of ids that were merged one into the next.
const CHAIN: usize = 8;

/// Whether a merge could begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It stands, from now on or since before.
    Stands(SubjectMerge),
    /// Refused: this other merge is in the way.
    InTheWay(SubjectMerge),
}

/// How much a merge moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Statements, former ones included.
    pub facts: u64,
    pub runs: u64,
    pub receipts: u64,
}

/// Anonymous ids that turn out to be users. A merge is put on record first; from then on the id is another name of
/// the user, for a day. What it owns is moved record by record, each on record before it moves; this may break off
/// anywhere and be done again, by several at once. What is written under the id meanwhile is moved, too.
#[async_trait]
pub trait Subjects: Send + Sync + 'static {
    /// Puts a merge on record. The same again finds the one that stands. Refused are an id that is merged into
    /// another user, a user that is itself merged, and an id whose merge is being taken back.
    async fn begin(&self, merge: &SubjectMerge) -> Result<Begun, StoreError>;

    /// Moves everything that the id of a standing merge owns to the user. Returns the merge as it stands then.
    async fn carry(&self, merge: &SubjectMerge, now: Timestamp) -> Result<SubjectMerge, StoreError>;

    /// Puts on record that a merge is taken back. `None`: there is none that still can be. Refused while its user is
    /// merged into another one.
    async fn retract(
        &self,
        tenant: &TenantId,
        from: &UserId,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Begun>, StoreError>;

    /// Moves back everything that a retracted merge moved, and what came of it since. What the user said itself
    /// stays. Returns the merge as it stands then.
    async fn carry_back(&self, merge: &SubjectMerge) -> Result<SubjectMerge, StoreError>;

    /// The last merge of an id, standing or not.
    async fn merge_of(&self, tenant: &TenantId, from: &UserId) -> Result<Option<SubjectMerge>, StoreError>;

    /// The merges that stand of the users of these scopes; one read.
    async fn standing(&self, scopes: &[Scope], now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError>;

    async fn tally(&self, merge: &SubjectMerge) -> Result<Tally, StoreError>;

    /// Merges, of all tenants, that are not done or about to close; for upkeep alone.
    async fn due(&self, now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError>;

    /// Notes that a merge was swept a last time.
    async fn close(&self, merge: &SubjectMerge) -> Result<(), StoreError>;

    /// Deletes what is known of merges that can no longer be taken back.
    async fn expire(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Finishes what broke off and closes what is over, of all tenants; for upkeep alone. Returns how many merges it
    /// worked on.
    async fn upkeep(&self, now: Timestamp) -> Result<usize, StoreError> {
        let due = self.due(now).await?;
        for merge in &due {
            match merge.state {
                MergeState::Merging => drop(self.carry(merge, now).await?),
                MergeState::Merged => self.close(&self.carry(merge, now).await?).await?,
                MergeState::Undoing | MergeState::Undone => drop(self.carry_back(merge).await?),
                MergeState::Closed => {}
            }
        }
        self.expire(now).await?;
        Ok(due.len())
    }

    /// Whose a record of each of these scopes is. What was written under merged ids is moved before this returns.
    async fn follow(&self, scopes: &[Scope], now: Timestamp) -> Result<Vec<Scope>, StoreError> {
        let mut whose = scopes.to_vec();
        for _ in 0..CHAIN {
            let merges = self.onward(&whose, now).await?;
            if merges.is_empty() {
                break;
            }
            for merge in &merges {
                self.carry(merge, now).await?;
            }
            lead(&mut whose, &merges);
        }
        Ok(whose)
    }

    /// The same without moving anything.
    async fn whose(&self, scope: &Scope, now: Timestamp) -> Result<Scope, StoreError> {
        let mut whose = [scope.clone()];
        for _ in 0..CHAIN {
            let merges = self.onward(&whose, now).await?;
            if merges.is_empty() {
                break;
            }
            lead(&mut whose, &merges);
        }
        let [whose] = whose;
        Ok(whose)
    }

    /// The merges that stand of the users among these scopes.
    async fn onward(&self, scopes: &[Scope], now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError> {
        let mut seen = BTreeSet::new();
        let users = scopes.iter().filter(|s| s.user().is_some());
        let users = users.filter(|s| seen.insert((s.tenant.clone(), s.visibility.clone())));
        let users: Vec<Scope> = users.cloned().collect();
        if users.is_empty() { Ok(Vec::new()) } else { self.standing(&users, now).await }
    }
}

/// One merge further.
fn lead(scopes: &mut [Scope], merges: &[SubjectMerge]) {
    for scope in scopes {
        if let Some(merge) = merges.iter().find(|merge| merge.source() == *scope) {
            *scope = merge.target();
        }
    }
}
