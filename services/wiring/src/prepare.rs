//! A server's collections are prepared when it answers, however long that takes; meanwhile the roles that
//! need them wait and say so.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_ports::{EmbedderId, MemoryStore, Reembed, StoreError, StoredVectors};
use hindsight_runtime::{Role, RoleError, Router};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::service::RoutesBuilder;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Why it is not done yet.
    Waiting(String),
    Done,
    /// Why it never will be, as things are configured.
    Never(String),
}

/// How far preparing is. Clones are one; with the last of them it is given up.
#[derive(Debug, Clone)]
pub(crate) struct Preparation {
    state: watch::Receiver<State>,
    _work: Option<Arc<AbortOnDropHandle<()>>>,
}

impl Preparation {
    pub(crate) fn done() -> Self {
        Self { state: watch::channel(State::Done).1, _work: None }
    }

    /// For ever when it never is.
    async fn awaited(&self) {
        let mut state = self.state.clone();
        if state.wait_for(|s| *s == State::Done).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Prepares in the background. What is away is tried again; what is wrong is said loudly and stays wrong.
pub(crate) fn prepare(store: Arc<dyn MemoryStore>, embedder: EmbedderId) -> Preparation {
    let (report, state) = watch::channel(State::Waiting("the store is being prepared".to_owned()));
    let work = tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        loop {
            match store.prepare(&embedder).await {
                Ok(()) => {
                    report.send_replace(State::Done);
                    // The state must outlive the work.
                    return report.closed().await;
                }
                Err(StoreError::Unavailable(reason)) => {
                    tracing::warn!(reason, again_in = ?pause, "the store cannot be prepared yet");
                    report.send_replace(State::Waiting(format!("the store is not prepared yet: {reason}")));
                }
                Err(error) => {
                    tracing::error!(%error, "THE STORE CANNOT BE USED; nothing is stored or recalled");
                    report.send_replace(State::Never(error.to_string()));
                    return report.closed().await;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    });
    Preparation { state, _work: Some(Arc::new(AbortOnDropHandle::new(work))) }
}

/// How much a role can do before the store is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It serves and is ready; what it brings to the store waits in the queue.
    Later,
    /// Nothing.
    First,
}

/// A role that waits for the store to be prepared.
pub(crate) struct Awaiting<R> {
    pub(crate) role: R,
    pub(crate) need: Need,
    pub(crate) preparation: Preparation,
    /// Of the role that searches: it says what the vectors lack.
    pub(crate) vectors: Option<Arc<dyn Reembed>>,
}

#[async_trait]
impl<R: Role> Role for Awaiting<R> {
    fn name(&self) -> &'static str {
        self.role.name()
    }

    fn service_names(&self) -> Vec<&'static str> {
        self.role.service_names()
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        self.role.register(routes);
    }

    fn http(&self) -> Option<Router> {
        self.role.http()
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        if self.need == Need::First {
            tokio::select! {
                () = self.preparation.awaited() => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
        self.role.run(stop).await
    }

    async fn ready(&self) -> Result<(), String> {
        let state = self.preparation.state.borrow().clone();
        match (state, self.need) {
            (State::Never(reason), _) | (State::Waiting(reason), Need::First) => Err(reason),
            _ => self.role.ready().await,
        }
    }

    async fn degraded(&self) -> Option<String> {
        match &*self.preparation.state.borrow() {
            State::Done => {}
            State::Waiting(reason) | State::Never(reason) => return Some(reason.clone()),
        }
        let own = self.role.degraded().await;
        own.or_else(|| self.vectors.as_ref()?.known_vectors().as_ref().and_then(StoredVectors::trouble))
    }

    fn pending(&self) -> String {
        self.role.pending()
    }
}

#[cfg(test)]
mod tests;
