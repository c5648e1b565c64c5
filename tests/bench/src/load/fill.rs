//! Memories written straight to the store: as many as are asked for, without judging runs for hours.

use std::time::Instant;

use hindsight_types::{Scope, Visibility};

use crate::{memories, report::Report, system::System};

/// Memories encoded and written at a time.
const BATCH: u64 = 500;

/// Writes the memories from number `from` to number `to`.
pub(crate) async fn up_to(
    system: &System,
    from: u64,
    to: u64,
    facts_per_user: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let shared = Scope::new(system.tenant.clone(), Visibility::Tenant);
    let started = Instant::now();
    let mut next = from;
    while next < to {
        let end = (next + BATCH).min(to);
        let memories = (next..end)
            .map(|index| match index % 2 {
                0 => memories::fact(&system.tenant, &memories::user(index / 2 / facts_per_user), index),
                _ => memories::experience(&shared, index),
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let encoded = hindsight_ingest::encode::memories(&*system.embedder, memories).await?;
        system.store.upsert(&encoded).await?;
        next = end;
    }
    let rate = (to.saturating_sub(from)) as f64 / started.elapsed().as_secs_f64();
    report.add(format!("{to} memories: encoded and written"), rate, "memories/s");
    Ok(())
}
