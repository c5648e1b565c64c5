//! What the log says of a change of embedder.

use hindsight_ports::{EmbedderId, Rebuild};

use crate::vectors::{Building, Named, State};

/// Seconds between two steps after which it is said that the work goes on.
const PAUSE: i64 = 60;

pub(super) fn turned(before: &State, embedder: &EmbedderId) {
    let serving = &before.serving.embedder;
    match &before.building {
        Some(given_up) if serving == embedder => {
            let given_up = &given_up.named.embedder;
            tracing::info!(%serving, %given_up, "the change of embedder is given up; what was built is dropped");
        }
        _ => {
            tracing::info!(%serving, building = %embedder, "the embedder changes: vectors are built beside the old")
        }
    }
}

pub(super) fn resumed(building: &Building) {
    let Rebuild { embedder, total, done, skipped, .. } = building.shown();
    tracing::info!(%embedder, memories = total, done, skipped, "building vectors");
}

/// Each tenth of the work.
pub(super) fn progress(before: &Building, after: &Building) {
    let (before, after) = (before.shown(), after.shown());
    let idle = after.updated_at.as_second() - before.updated_at.as_second() > PAUSE;
    if idle || after.percent() / 10 > before.percent() / 10 {
        let Rebuild { done, total, skipped, .. } = after;
        let (percent, seconds_left) = (after.percent(), after.seconds_left());
        tracing::info!(percent, done, memories = total, skipped, seconds_left, "building vectors");
    }
}

pub(super) fn switched(former: &Named, built: &Building) {
    let Rebuild { embedder: serving, done, skipped, started_at, updated_at, .. } = built.shown();
    let seconds = updated_at.as_second() - started_at.as_second();
    let former = &former.embedder;
    tracing::info!(%serving, %former, memories = done, skipped, seconds, "the embedder has changed");
}
