//! Which requests belong together: those of one session, and those of a client that has none.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use http::{HeaderMap, HeaderName};

use super::super::{Connection, observe::Seen};

/// Names a session, from the server's first answer on.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Sessions at once; beyond, the one not used for longest is forgotten, which ends its task.
const SESSIONS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    named: HashMap<String, (Connection, u64)>,
    /// Of a server without sessions.
    nameless: Option<Connection>,
    uses: u64,
}

pub(super) fn name(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

impl Sessions {
    pub(super) fn find(&self, session: Option<&str>) -> Option<Connection> {
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        let Some(session) = session else { return state.nameless.clone() };
        let (connection, used) = state.named.get_mut(session)?;
        *used = uses;
        Some(connection.clone())
    }

    pub(super) fn keep(&self, session: Option<String>, connection: Connection) {
        let mut state = self.state();
        let Some(session) = session else {
            state.nameless = Some(connection);
            return;
        };
        state.uses += 1;
        let uses = state.uses;
        state.named.insert(session, (connection, uses));
        if state.named.len() > SESSIONS {
            let oldest = state.named.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone());
            oldest.and_then(|name| state.named.remove(&name));
        }
    }

    /// The client said that it is done with this session.
    pub(super) fn end(&self, session: &str) {
        if let Some((connection, _)) = self.state().named.remove(session) {
            connection.notes.note(Seen::Closed);
        }
    }

    pub(super) fn close(&self) {
        let State { named, nameless, .. } = std::mem::take(&mut *self.state());
        for connection in named.into_values().map(|(c, _)| c).chain(nameless) {
            connection.notes.note(Seen::Closed);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
