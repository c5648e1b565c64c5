//! Facts on their way into the store, each with the turns of its session beside it. What stands around a turn
//! is a function of the whole session, so a turn that arrives late, again or in a new version changes its
//! neighbours, too. Whoever writes looks again afterwards: of several at work on one session the last one
//! sees everything, and a version never replaces a newer one.

use std::{collections::HashMap, time::Duration};

use futures::future::try_join_all;
use hindsight_ingest::{context, encode};
use hindsight_ports::MemoryStore;
use hindsight_types::{Fact, Memory, MemoryId, MemoryKind, Period, Scope, SessionId, Timestamp, Viewer};

use super::{Shared, batch::Failure};

/// Looks at a session after which it is left to the next delivery: too many write to it at once.
const ROUNDS: usize = 8;

/// The stretch of a session in which something was said, from the first to the last time.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Timestamp,
    until: Timestamp,
}

type Stretches = HashMap<(Scope, SessionId), Stretch>;

pub(super) async fn write(shared: &Shared, facts: Vec<Fact>) -> Result<(), Failure> {
    let store = &*shared.store;
    let former = former(store, &facts).await?;
    let stretches = stretches(facts.iter().chain(former.values()));
    let (mut arrived, replaced) = newest(facts, &former);
    let mut beside = Vec::new();
    for fact in changed(store, &stretches, &arrived).await? {
        match arrived.get_mut(&fact.id) {
            Some(arrived) => *arrived = fact,
            None => beside.push(fact),
        }
    }
    // What arrived comes last: once it is found, what it changed is found with it.
    upsert(shared, beside).await?;
    // Older versions are kept as such.
    upsert(shared, arrived.into_values().chain(replaced).collect()).await?;
    for _ in 0..ROUNDS {
        let changed = changed(store, &stretches, &HashMap::new()).await?;
        if changed.is_empty() {
            return Ok(());
        }
        upsert(shared, changed).await?;
    }
    Err(Failure::Transient("others write to the same session at once".to_owned()))
}

/// The newest version of each fact, unless what is stored is newer; and the others.
fn newest(facts: Vec<Fact>, former: &HashMap<MemoryId, Fact>) -> (HashMap<MemoryId, Fact>, Vec<Fact>) {
    let (mut newest, mut others) = (HashMap::new(), Vec::new());
    for fact in facts {
        let best: Option<&Fact> = newest.get(&fact.id).or(former.get(&fact.id));
        if best.is_some_and(|best| fact.age() < best.age()) {
            others.push(fact);
        } else {
            others.extend(newest.insert(fact.id, fact));
        }
    }
    (newest, others)
}

/// The versions that are stored now. A turn that moves changes what it leaves.
async fn former(store: &dyn MemoryStore, facts: &[Fact]) -> Result<HashMap<MemoryId, Fact>, Failure> {
    let of = |fact: &Fact| {
        let (viewer, id) = (Viewer::of_scope(&fact.scope), fact.id);
        async move { store.get(&viewer, MemoryKind::Fact, id).await }
    };
    let found = try_join_all(facts.iter().map(of)).await?;
    let facts = found.into_iter().flatten().filter_map(|memory| match memory {
        Memory::Fact(fact) => Some((fact.id, fact)),
        _ => None,
    });
    Ok(facts.collect())
}

fn stretches<'a>(facts: impl Iterator<Item = &'a Fact>) -> Stretches {
    let mut stretches = Stretches::new();
    for fact in facts {
        let Some(session) = fact.session.clone() else { continue };
        let at = fact.occurred_at;
        let stretch =
            stretches.entry((fact.scope.clone(), session)).or_insert(Stretch { from: at, until: at });
        stretch.from = stretch.from.min(at);
        stretch.until = stretch.until.max(at);
    }
    stretches
}

/// What of the sessions does not stand in its right surroundings, once `arrived` is there.
async fn changed(
    store: &dyn MemoryStore,
    stretches: &Stretches,
    arrived: &HashMap<MemoryId, Fact>,
) -> Result<Vec<Fact>, Failure> {
    let of = |((scope, session), stretch): (&(Scope, SessionId), &Stretch)| {
        let (viewer, Stretch { from, until }) = (Viewer::of_scope(scope), *stretch);
        let (scope, session) = (scope.clone(), session.clone());
        async move {
            let span = Period { from, until: just_after(until) };
            let mut turns = store.session_facts(&viewer, &session, span, context::REACH).await?;
            turns.retain(|turn| !arrived.contains_key(&turn.id));
            let here = |f: &&Fact| f.session.as_ref() == Some(&session) && f.scope == scope;
            turns.extend(arrived.values().filter(here).cloned());
            Ok::<_, Failure>(context::changed(turns, from, until))
        }
    };
    Ok(try_join_all(stretches.iter().map(of)).await?.into_iter().flatten().collect())
}

/// The store tells times apart by the microsecond.
fn just_after(time: Timestamp) -> Timestamp {
    time.checked_add(Duration::from_micros(1)).unwrap_or(Timestamp::MAX)
}

async fn upsert(shared: &Shared, facts: Vec<Fact>) -> Result<(), Failure> {
    if facts.is_empty() {
        return Ok(());
    }
    let memories = facts.into_iter().map(Memory::Fact).collect();
    let encoded = encode::memories(shared.embedder.as_ref(), memories).await?;
    Ok(shared.store.upsert(&encoded).await?)
}
