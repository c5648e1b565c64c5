use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::Role;

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A role that ran this long before it failed starts again with the first delay.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// A role with its background work. Dropping it aborts the work.
pub(crate) struct Supervised {
    pub(crate) role: Arc<dyn Role>,
    stop: CancellationToken,
    done: CancellationToken,
    up: watch::Receiver<bool>,
    _task: AbortOnDropHandle<()>,
}

impl Supervised {
    pub(crate) fn start(role: Arc<dyn Role>) -> Self {
        let stop = CancellationToken::new();
        let done = CancellationToken::new();
        let (report, up) = watch::channel(true);
        let guard = done.clone().drop_guard();
        let (r, s) = (role.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let _guard = guard;
            keep_running(&*r, &s, &report).await;
        });
        Self { role, stop, done, up, _task: AbortOnDropHandle::new(task) }
    }

    /// Whether its background work runs, rather than waiting to be started again.
    pub(crate) fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    /// Changes when it fails and when it runs again.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.up.clone()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.is_cancelled()
    }

    /// Tells it to stop and waits until it has.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.done.cancelled().await;
    }
}

/// Runs the role until it is told to stop. A role that ends earlier is started again, ever later.
async fn keep_running(role: &dyn Role, stop: &CancellationToken, up: &watch::Sender<bool>) {
    let mut delay = FIRST_DELAY;
    loop {
        let begun = Instant::now();
        up.send_replace(true);
        let result = AssertUnwindSafe(role.run(stop.clone())).catch_unwind().await;
        up.send_replace(false);
        let reason = match result {
            Ok(Ok(())) if stop.is_cancelled() => return,
            Ok(Ok(())) => "it ended by itself".to_owned(),
            Ok(Err(error)) => error.reason,
            Err(_) => "it panicked".to_owned(),
        };
        if stop.is_cancelled() {
            tracing::error!(role = role.name(), reason, "role failed while stopping");
            return;
        }
        if begun.elapsed() >= HEALTHY_AFTER {
            delay = FIRST_DELAY;
        }
        tracing::error!(role = role.name(), reason, again_in = ?delay, "role failed");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(delay) => {}
        }
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
