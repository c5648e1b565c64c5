use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, stream::FuturesUnordered};
use hindsight_telemetry::{Label, Metric};
use tokio::sync::watch;
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{
    probes::{Probes, RoleState},
    supervise::Supervised,
};

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

/// Keeps the health of each role what it says of itself, the whole healthy when all roles are, and the
/// probes in step with both.
pub(crate) async fn follow(reporter: HealthReporter, roles: Arc<Vec<Supervised>>, probes: Probes) {
    let mut ups: Vec<_> = roles.iter().map(Supervised::watch).collect();
    let mut before: Vec<Option<RoleState>> = vec![None; roles.len()];
    loop {
        ups.iter_mut().for_each(watch::Receiver::mark_unchanged);
        let now = futures::future::join_all(roles.iter().map(ask)).await;
        for ((role, old), new) in roles.iter().zip(&mut before).zip(&now) {
            if old.as_ref() == Some(new) {
                continue;
            }
            log(old.as_ref(), new);
            report(&reporter, role, serving(new.ready)).await;
            *old = Some(new.clone());
        }
        for state in &now {
            Metric::RoleReady.set(f64::from(u8::from(state.ready)), &[(Label::Role, state.role)]);
        }
        let all = now.iter().all(|s| s.ready);
        probes.running(now);
        reporter.set_service_status("", serving(all)).await;
        let pause = tokio::time::sleep(if all { CALM } else { EAGER });
        let mut changes: FuturesUnordered<_> = ups.iter_mut().map(changed).collect();
        tokio::select! {
            () = pause => {}
            Some(()) = changes.next() => {}
        }
    }
}

fn serving(ready: bool) -> ServingStatus {
    if ready { ServingStatus::Serving } else { ServingStatus::NotServing }
}

/// For ever once the role is done.
async fn changed(up: &mut watch::Receiver<bool>) {
    if up.changed().await.is_err() {
        std::future::pending().await
    }
}

async fn ask(role: &Supervised) -> RoleState {
    let name = role.role.name();
    if !role.is_up() {
        return RoleState::not_ready(name, "it failed and waits to be started again".to_owned());
    }
    let asked = async { (role.role.ready().await, role.role.degraded().await) };
    match tokio::time::timeout(ANSWER, asked).await {
        Ok((Ok(()), degraded)) => RoleState { role: name, ready: true, reason: None, degraded },
        Ok((Err(reason), _)) => RoleState::not_ready(name, reason),
        Err(_) => RoleState::not_ready(name, format!("no answer within {ANSWER:?}")),
    }
}

fn log(old: Option<&RoleState>, new: &RoleState) {
    let role = new.role;
    if let Some(reason) = &new.reason {
        tracing::warn!(role, reason, "not ready");
        return;
    }
    if old.is_none_or(|o| !o.ready) {
        tracing::info!(role, "ready");
    }
    match (&new.degraded, old.and_then(|o| o.degraded.as_ref())) {
        (Some(reason), _) => tracing::warn!(role, reason, "degraded"),
        (None, Some(_)) => tracing::info!(role, "no longer degraded"),
        (None, None) => {}
    }
}
