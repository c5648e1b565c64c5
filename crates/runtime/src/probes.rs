use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

/// What probes say of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleState {
    pub role: &'static str,
    pub ready: bool,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What does not work though it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

impl RoleState {
    pub(crate) fn not_ready(role: &'static str, reason: String) -> Self {
        Self { role, ready: false, reason: Some(reason), degraded: None }
    }
}

/// The state of the process, for whoever probes it. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Probes(Arc<watch::Sender<Report>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    Starting,
    Running,
    Stopping,
}

/// The body of an answer to a probe.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) phase: Phase,
    pub(crate) ready: bool,
    /// What the start waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waits_for: Option<String>,
    pub(crate) roles: Vec<RoleState>,
}

impl Default for Probes {
    fn default() -> Self {
        let report = Report { phase: Phase::Starting, ready: false, waits_for: None, roles: Vec::new() };
        Self(Arc::new(watch::Sender::new(report)))
    }
}

impl Probes {
    /// Says why the process has not started yet.
    pub fn starting(&self, waits_for: String) {
        self.0.send_modify(|r| r.waits_for = Some(waits_for));
    }

    pub(crate) fn running(&self, roles: Vec<RoleState>) {
        let ready = roles.iter().all(|r| r.ready);
        self.0.send_modify(|r| {
            if r.phase != Phase::Stopping {
                *r = Report { phase: Phase::Running, ready, waits_for: None, roles };
            }
        });
    }

    pub(crate) fn stopping(&self) {
        self.0.send_modify(|r| (r.phase, r.ready) = (Phase::Stopping, false));
    }

    pub(crate) fn report(&self) -> Report {
        self.0.borrow().clone()
    }
}
