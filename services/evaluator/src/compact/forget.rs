//! Carries a forgetting on, for a while; what is left then is asked for anew.

use std::time::{Duration, Instant};

use hindsight_forgetting::{Forgetter, Proved};
use hindsight_ingest::{context, encode};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{
    Forgetting, ForgettingId, ForgettingState, Gap, Memory, Period, Scope, TenantId, Timestamp, Viewer,
};

use super::{Effect, Tools};
use crate::broken::Broken;

/// How long one message works, but for the vacuum of one collection; well below the time in which a delivery must be
/// settled.
const A_WHILE: Duration = Duration::from_secs(60);
/// Looks at a session; others write to it meanwhile.
const ROUNDS: usize = 8;

pub(super) async fn run(tools: &Tools, tenant: &TenantId, id: ForgettingId) -> Result<Effect, Broken> {
    let forgetter = super::forgetter(tools)?;
    let Some(mut f) = forgetter.forget.forgetting(tenant, id).await? else {
        return Ok(Effect::skipped("it is not on record"));
    };
    if f.state.is_over() {
        return Ok(Effect::skipped("it is over"));
    }
    let begun = Instant::now();
    loop {
        f = match f.state {
            ForgettingState::Erasing => step(tools, forgetter, &f).await?,
            ForgettingState::Vacuuming => forgetter.vacuum(f).await?,
            ForgettingState::Proving => match forgetter.prove(f).await? {
                Proved::Over(f) => return Ok(over(&f)),
                Proved::Again(f, wait) => {
                    let reason = format!("{} is not gone yet", f.subject.in_words());
                    return Err(Broken::Transient { reason, wait: Some(wait) });
                }
            },
            ForgettingState::Done | ForgettingState::Failed { .. } => return Ok(Effect::Done),
        };
        if begun.elapsed() >= A_WHILE && !f.state.is_over() {
            forgetter.ask(&f).await?;
            return Ok(Effect::Done);
        }
    }
}

fn over(f: &Forgetting) -> Effect {
    let (tenant, id, removed) = (&f.scope.tenant, f.id, f.removed.values().sum::<u64>());
    let result = match &f.state {
        ForgettingState::Failed { reason } => {
            tracing::error!(%tenant, %id, removed, reason, "a forgetting was given up");
            "failed"
        }
        _ => {
            tracing::info!(%tenant, %id, removed, "forgotten");
            "done"
        }
    };
    Metric::Forgettings.add(1, &[(Label::Result, result)]);
    Effect::Done
}

async fn step(tools: &Tools, forgetter: &Forgetter, f: &Forgetting) -> Result<Forgetting, Broken> {
    forgetter.forget.erase(f).await?;
    forgetter.relearn(f).await?;
    for gap in &f.batch.gaps {
        mend(tools, &f.scope.tenant, gap).await?;
    }
    Ok(forgetter.forget.advance(f, tools.clock.now()).await?)
}

/// Gives the turns beside a fact that is gone their surroundings anew.
async fn mend(tools: &Tools, tenant: &TenantId, gap: &Gap) -> Result<(), Broken> {
    let viewer = Viewer::of_scope(&Scope::new(tenant.clone(), gap.visibility.clone()));
    let until = gap.at.checked_add(Duration::from_micros(1)).unwrap_or(Timestamp::MAX);
    let span = Period { from: gap.at, until };
    for _ in 0..ROUNDS {
        let turns = tools.store.session_facts(&viewer, &gap.session, span, context::REACH).await?;
        let changed = context::changed(turns, gap.at, gap.at);
        if changed.is_empty() {
            return Ok(());
        }
        let memories = changed.into_iter().map(Memory::Fact).collect();
        let encoded = encode::memories(tools.embedder.as_ref(), memories).await?;
        tools.store.upsert(&encoded).await?;
    }
    Err(Broken::Transient { reason: "others write to the same session at once".to_owned(), wait: None })
}
