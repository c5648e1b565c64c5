//! Facts that contradict each other, and which of them holds.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_api::{Caller, MAX_PAGE_SIZE, page};
use hindsight_codec::{fact_to_proto, time_to_proto};
use hindsight_lifecycle::contradictions;
use hindsight_ports::PageRequest;
use hindsight_proto::memory::v1 as pb;
use hindsight_types::{Fact, Invalid, Memory, MemoryId, MemoryKind, Timestamp, Viewer};
use tonic::Status;

use super::{Memories, invalid, store};
use crate::ask::viewer;

/// Most facts of a user that are compared, the newest.
const FACTS: usize = 2_000;

/// Two facts, and how it was decided between them.
struct Pair<'a> {
    older: &'a Fact,
    newer: &'a Fact,
    decision: pb::ConflictDecision,
    why: String,
    decided_at: Option<Timestamp>,
}

impl Memories {
    pub(super) async fn conflicts(
        &self,
        caller: Caller,
        request: pb::ListConflictsRequest,
    ) -> Result<pb::ListConflictsResponse, Status> {
        let pb::ListConflictsRequest { user, page_size, page_token } = request;
        if user.is_empty() {
            return Err(invalid(Invalid::new("user", "is required: facts belong to one user")));
        }
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let PageRequest { size, token } = page(page_size, page_token).map_err(invalid)?;
        let after = (!token.is_empty()).then(|| place(&token)).transpose().map_err(invalid)?;
        let (facts, partial) = self.facts_of(&viewer).await?;
        let pairs = pairs(&facts, self.clock.now());
        let mut rest = pairs.iter().filter(|pair| after.is_none_or(|after| pair.place() > after));
        let shown: Vec<&Pair<'_>> = rest.by_ref().take(size).collect();
        let next = shown.last().filter(|_| rest.next().is_some());
        Ok(pb::ListConflictsResponse {
            next_page_token: next.map(|pair| token_of(pair.place())).unwrap_or_default(),
            conflicts: shown.into_iter().map(Pair::told).collect(),
            partial,
        })
    }

    async fn facts_of(&self, viewer: &Viewer) -> Result<(Vec<Fact>, bool), Status> {
        let mut facts = Vec::new();
        let mut request = PageRequest { size: MAX_PAGE_SIZE, token: String::new() };
        loop {
            let page = self.store.list(viewer, MemoryKind::Fact, &request).await.map_err(store)?;
            facts.extend(page.items.into_iter().filter_map(|memory| match memory {
                Memory::Fact(fact) => Some(fact),
                _ => None,
            }));
            if page.next_token.is_empty() || facts.len() >= FACTS {
                return Ok((facts, !page.next_token.is_empty()));
            }
            request.token = page.next_token;
        }
    }
}

/// What was decided for good, and what each recall decides, by the time of the newer one, newest first.
fn pairs(facts: &[Fact], now: Timestamp) -> Vec<Pair<'_>> {
    let by_id: BTreeMap<MemoryId, &Fact> = facts.iter().map(|fact| (fact.id, fact)).collect();
    let settled = facts.iter().filter_map(|older| {
        let newer = by_id.get(&older.superseded_by?)?;
        let revision = older.revision.as_ref();
        Some(Pair {
            older,
            newer,
            decision: pb::ConflictDecision::Superseded,
            why: revision.map(|r| r.reason.clone()).unwrap_or_default(),
            decided_at: revision.map(|r| r.at),
        })
    });
    let open = contradictions::facts(facts, now).into_iter().filter_map(|found| {
        Some(Pair {
            older: by_id.get(&found.older)?,
            newer: by_id.get(&found.newer)?,
            decision: pb::ConflictDecision::AtRecall,
            why: found.why,
            decided_at: None,
        })
    });
    let mut pairs: Vec<Pair<'_>> = settled.chain(open).collect();
    pairs.sort_by_key(Pair::place);
    let mut seen = BTreeSet::new();
    pairs.retain(|pair| seen.insert((pair.older.id, pair.newer.id)));
    pairs
}

type Place = (std::cmp::Reverse<Timestamp>, MemoryId, MemoryId);

impl Pair<'_> {
    fn place(&self) -> Place {
        (std::cmp::Reverse(self.newer.occurred_at), self.newer.id, self.older.id)
    }

    fn told(&self) -> pb::Conflict {
        pb::Conflict {
            older: Some(fact_to_proto(self.older)),
            newer: Some(fact_to_proto(self.newer)),
            decision: self.decision.into(),
            why: self.why.clone(),
            decided_at: self.decided_at.map(time_to_proto),
        }
    }
}

fn token_of((time, newer, older): Place) -> String {
    format!("{}_{newer}_{older}", time.0.as_nanosecond())
}

fn place(token: &str) -> Result<Place, Invalid> {
    let refused = || Invalid::new("page_token", "is not of this list; begin again without one");
    let mut parts = token.split('_');
    let mut part = || parts.next().ok_or_else(refused);
    let nanos: i128 = part()?.parse().map_err(|_| refused())?;
    let time = Timestamp::from_nanosecond(nanos).map_err(|_| refused())?;
    let mut id = || MemoryId::parse(part()?).map_err(|_| refused());
    Ok((std::cmp::Reverse(time), id()?, id()?))
}
