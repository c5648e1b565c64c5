use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::watch;
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::supervise::Supervised;

/// How often a role is asked while it is ready, and while it is not.
const CALM: Duration = Duration::from_secs(2);
const EAGER: Duration = Duration::from_millis(100);
/// A dependency that takes longer than this to answer is not ready.
const ANSWER: Duration = Duration::from_secs(5);

/// NOT_SERVING for every service and for the whole. The reporter starts the whole as serving.
pub(crate) async fn all_down(reporter: &HealthReporter, roles: &[Supervised]) {
    reporter.set_service_status("", ServingStatus::NotServing).await;
    for role in roles {
        report(reporter, role, ServingStatus::NotServing).await;
    }
}

async fn report(reporter: &HealthReporter, role: &Supervised, status: ServingStatus) {
    for service in role.role.service_names() {
        reporter.set_service_status(service, status).await;
    }
}

/// Keeps the health of each role what its dependencies say, and the whole healthy when all roles are.
pub(crate) async fn follow(reporter: HealthReporter, roles: Arc<Vec<Supervised>>) {
    let mut ups: Vec<_> = roles.iter().map(Supervised::watch).collect();
    let mut before: Vec<Option<Result<(), String>>> = vec![None; roles.len()];
    loop {
        ups.iter_mut().for_each(watch::Receiver::mark_unchanged);
        let asked = roles.iter().map(ask);
        let now = futures::future::join_all(asked).await;
        for ((role, old), new) in roles.iter().zip(&mut before).zip(&now) {
            if old.as_ref() == Some(new) {
                continue;
            }
            log(role, new);
            let status = if new.is_ok() { ServingStatus::Serving } else { ServingStatus::NotServing };
            report(&reporter, role, status).await;
            *old = Some(new.clone());
        }
        let all = now.iter().all(Result::is_ok);
        let status = if all { ServingStatus::Serving } else { ServingStatus::NotServing };
        reporter.set_service_status("", status).await;
        let pause = tokio::time::sleep(if all { CALM } else { EAGER });
        let mut changes: FuturesUnordered<_> = ups.iter_mut().map(changed).collect();
        tokio::select! {
            () = pause => {}
            Some(()) = changes.next() => {}
        }
    }
}

/// For ever once the role is done.
async fn changed(up: &mut watch::Receiver<bool>) {
    if up.changed().await.is_err() {
        std::future::pending().await
    }
}

async fn ask(role: &Supervised) -> Result<(), String> {
    if !role.is_up() {
        return Err("it failed and waits to be started again".to_owned());
    }
    match tokio::time::timeout(ANSWER, role.role.ready()).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {ANSWER:?}")),
    }
}

fn log(role: &Supervised, state: &Result<(), String>) {
    match state {
        Ok(()) => tracing::info!(role = role.role.name(), "ready"),
        Err(reason) => tracing::warn!(role = role.role.name(), reason, "not ready"),
    }
}
