//! One memory, measured as a recall like that of its receipt would measure it now.

use hindsight_ports::{Arm, Candidate, CandidateId, Fetched, Search, StoreError};
use hindsight_rank::{Pool, Query, Ranking, Request, Settings, block::Style};
use hindsight_types::{Asked, Memory, MemoryKind, Receipt, Viewer};
use jiff::tz::TimeZone;

use super::{Measured, Place};
use crate::{
    engine::Engine,
    search::{arms, embed, finds, is_zero},
};

/// How far the candidates are looked through.
const FAR: usize = 1_000;
/// Time for the embedding: nobody waits for an explanation at a deadline.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// What one arm finds of the kind of the memory, and of the memory alone.
struct Seen {
    arm: Arm,
    all: Vec<Candidate>,
    alone: Option<Candidate>,
}

impl Engine {
    pub(super) async fn measure(
        &self,
        viewer: &Viewer,
        receipt: &Receipt,
        memory: &Memory,
    ) -> Result<Measured, StoreError> {
        let asked = receipt.asked.clone().unwrap_or_default();
        let candidates = match usize::try_from(asked.candidates) {
            Ok(0) | Err(_) => self.settings.candidates,
            Ok(n) => n,
        };
        let query = query(receipt, &asked);
        let dense = embed(&*self.embedder, &query, PATIENCE).await.unwrap_or_default();
        let mut every = vec![Arm::Dense(dense.clone())];
        every.retain(|arm| !is_zero(arm));
        every.extend(arms(&query));
        every.retain(|arm| finds(arm, memory.kind()));
        let looks = every.into_iter().map(|arm| self.look(viewer, memory, arm));
        let seen = futures::future::try_join_all(looks).await?;

        let mut measured = Measured {
            places: seen.iter().map(|seen| seen.place(candidates)).collect(),
            ..Measured::default()
        };
        let Some(id) = seen.iter().find_map(|seen| seen.alone.as_ref()).map(|found| found.id) else {
            return Ok(measured);
        };
        let pool = |settings: &Settings, with_it: bool| {
            let mut pool = Pool::new(query.clone(), dense.clone(), self.dense, settings.clone());
            seen.iter().for_each(|seen| seen.propose(&mut pool, memory.kind(), candidates, with_it));
            pool
        };
        let settings = self.settings.rank(&viewer.tenant);
        let as_then = pool(&settings, false);
        let shortlist = as_then.shortlist();
        measured.shortlisted = shortlist.contains(&(memory.kind(), id));
        let request = self.again(receipt, &asked);
        let mut beside = Vec::new();
        if measured.shortlisted {
            let ids: Vec<CandidateId> = shortlist.into_iter().map(|(_, id)| id).collect();
            beside = self.store.fetch(viewer, memory.kind(), &ids).await?;
            let Ranking { items, withheld, .. } = as_then.rank(beside.clone(), &request);
            measured.given = items.iter().any(|item| item.memory.id() == memory.id());
            measured.withheld = withheld.into_iter().find(|w| w.memory_id == memory.id());
        }
        // Without floor and budget, so that its factors are told whatever came of it; alone when another one stands
        // in its place.
        let serving = settings.serving.certain();
        let open = Settings { floor: 0.0, tail_floor: 0.0, serving, ..settings };
        let all = Request { limit: usize::MAX, token_budget: usize::MAX, ..request };
        let alone = vec![Fetched { id, memory: memory.clone() }];
        measured.factors = [beside, alone].into_iter().find_map(|fetched| {
            let ranking = pool(&open, true).rank(fetched, &all);
            ranking.items.iter().find(|item| item.memory.id() == memory.id()).map(|item| item.factors)
        });
        Ok(measured)
    }

    async fn look(&self, viewer: &Viewer, memory: &Memory, arm: Arm) -> Result<Seen, StoreError> {
        let all = Search { kind: memory.kind(), arm, limit: FAR, action_name: None, ids: None };
        let alone = Search { limit: 1, ids: Some(vec![memory.id()]), ..all.clone() };
        let (found, alone) =
            futures::future::try_join(self.store.search(viewer, &all), self.store.search(viewer, &alone))
                .await?;
        Ok(Seen { arm: all.arm, all: found, alone: alone.into_iter().next() })
    }

    fn again<'a>(&self, receipt: &'a Receipt, asked: &'a Asked) -> Request<'a> {
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX).max(1);
        Request {
            query: &receipt.query,
            environment: &asked.environment,
            now: asked.asked_at.unwrap_or(receipt.at),
            limit: size(asked.limit),
            token_budget: size(asked.token_budget),
            receipt: receipt.id,
            style: Style::default(),
            said: None,
        }
    }
}

/// The question of a receipt, without what was said before it, which is not kept.
fn query(receipt: &Receipt, asked: &Asked) -> Query {
    let zone = TimeZone::get(&asked.time_zone).unwrap_or(TimeZone::UTC);
    Query::new(&receipt.query, &[], asked.asked_at.unwrap_or(receipt.at), &zone)
}

impl Seen {
    fn place(&self, candidates: usize) -> Place {
        let id = self.alone.as_ref().map(|found| found.id);
        let rank = id.and_then(|id| self.all.iter().position(|c| c.id == id)).map(|at| at + 1);
        Place {
            arm: self.arm.name(),
            rank,
            score: self.alone.as_ref().map(|found| found.score),
            candidates,
            last: candidates.checked_sub(1).and_then(|last| self.all.get(last)).map(|c| c.score),
        }
    }

    /// Adds what the arm proposed; with `with_it` the memory also when it lies beyond that.
    fn propose(&self, pool: &mut Pool, kind: MemoryKind, candidates: usize, with_it: bool) {
        let mut proposed: Vec<Candidate> = self.all.iter().take(candidates).cloned().collect();
        if let Some(alone) = self.alone.as_ref().filter(|_| with_it) {
            proposed.push(alone.clone());
        }
        pool.add(kind, &self.arm, proposed);
    }
}
