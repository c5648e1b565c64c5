//! Which requests belong together: those of one session, and those of a client that has none.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::extract::ConnectInfo;
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};

use super::super::Connection;

/// Names a session, from the server's first answer on.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Signs that are remembered; beyond, the one not used for longest is forgotten. A task ends with its last sign.
const SIGNS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    state: Mutex<State>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    signs: HashMap<Sign, (Connection, u64)>,
    uses: u64,
}

/// What tells a client from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Sign {
    /// The name that the server gave to its session.
    Session(String),
    /// Without a session: its connection to this machine, as long as it keeps it.
    Line(SocketAddr, u64),
    /// Its key, the address of its machine, and what it says it is; of these only a hash is kept.
    Looks(u64),
}

/// The signs of a request, the surest first.
#[derive(Debug)]
pub(super) struct Signs(Vec<Sign>);

impl Signs {
    /// Of a session that the server begins with these headers; `None`: it does without.
    pub(super) fn of_session(headers: &HeaderMap) -> Option<Self> {
        let name = headers.get(SESSION)?.to_str().ok()?;
        Some(Self(vec![Sign::Session(name.to_owned())]))
    }

    pub(super) fn is_session(&self) -> bool {
        matches!(self.0[..], [Sign::Session(_)])
    }
}

impl Sessions {
    /// The signs of a request without a session. `client` is what the client says it is.
    pub(super) fn signs(&self, request: &Parts, client: Option<&str>) -> Signs {
        let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|c| c.0);
        let said = |name| request.headers.get(name).map(HeaderValue::as_bytes);
        let looks = (said(header::AUTHORIZATION), peer.map(|p| p.ip()), said(header::USER_AGENT), client);
        let looks = self.hasher.hash_one(looks);
        let line = peer.map(|peer| Sign::Line(peer, looks));
        Signs(line.into_iter().chain([Sign::Looks(looks)]).collect())
    }

    /// What the surest sign that is known belongs to; from then on the surer ones belong to it as well.
    pub(super) fn find(&self, signs: &Signs) -> Option<Connection> {
        let mut state = self.state();
        let at = signs.0.iter().position(|sign| state.signs.contains_key(sign))?;
        let connection = state.signs.get(&signs.0[at])?.0.clone();
        for sign in &signs.0[..=at] {
            state.keep(sign.clone(), connection.clone());
        }
        Some(connection)
    }

    pub(super) fn keep(&self, signs: &Signs, connection: &Connection) {
        let mut state = self.state();
        for sign in &signs.0 {
            state.keep(sign.clone(), connection.clone());
        }
    }

    /// The client said that it is done.
    pub(super) fn end(&self, signs: &Signs) {
        let mut state = self.state();
        for (connection, _) in signs.0.iter().filter_map(|sign| state.signs.remove(sign)) {
            connection.notes.close();
        }
    }

    pub(super) fn close(&self) {
        for (connection, _) in std::mem::take(&mut *self.state()).signs.into_values() {
            connection.notes.close();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, sign: Sign, connection: Connection) {
        self.uses += 1;
        self.signs.insert(sign, (connection, self.uses));
        if self.signs.len() > SIGNS {
            let oldest = self.signs.iter().min_by_key(|(_, (_, used))| *used).map(|(sign, _)| sign.clone());
            oldest.and_then(|sign| self.signs.remove(&sign));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{Memory, Mode, Proxy, testkit::settings},
        *,
    };

    struct Several {
        sessions: Sessions,
        proxy: Proxy,
    }

    /// A request from a port of this machine.
    fn request(port: u16, headers: &[(&'static str, &str)]) -> Parts {
        let mut request = http::Request::new(()).into_parts().0;
        request.extensions.insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], port))));
        for (name, value) in headers {
            request.headers.insert(*name, value.parse().unwrap());
        }
        request
    }

    impl Several {
        fn new() -> Self {
            Self {
                sessions: Sessions::default(),
                proxy: Proxy::new(settings(Mode::Observe), Memory::later().1),
            }
        }

        /// A client begins; the name of its task.
        fn begin(&mut self, request: &Parts, client: &str) -> String {
            let connection = self.proxy.connect("server");
            self.sessions.keep(&self.sessions.signs(request, Some(client)), &connection);
            connection.notes.trace()
        }

        fn found(&self, request: &Parts, client: &str) -> Option<String> {
            self.sessions.find(&self.sessions.signs(request, Some(client))).map(|c| c.notes.trace())
        }
    }

    #[tokio::test]
    async fn clients_without_sessions_are_told_apart_by_what_shows_of_them() {
        let mut all = Several::new();
        let (key, other) = ([("authorization", "Bearer a")], [("authorization", "Bearer b")]);
        let a = all.begin(&request(1, &key), "x");
        assert_eq!(all.found(&request(1, &key), "x"), Some(a.clone()));
        assert_eq!(all.found(&request(2, &key), "x"), Some(a), "it came by another line");
        assert_eq!(all.found(&request(1, &other), "x"), None, "another key");
        assert_eq!(all.found(&request(1, &key), "y"), None, "another name");
        assert_eq!(all.found(&request(1, &[("user-agent", "z")]), "x"), None, "no key");
        let mut elsewhere = request(1, &key);
        elsewhere.extensions.insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 2], 1))));
        assert_eq!(all.found(&elsewhere, "x"), None, "another machine");
    }

    #[tokio::test]
    async fn clients_that_look_the_same_are_told_apart_by_their_lines() {
        let mut all = Several::new();
        let (a, b) = (all.begin(&request(1, &[]), "x"), all.begin(&request(2, &[]), "x"));
        assert_ne!(a, b);
        for _ in 0..2 {
            assert_eq!(all.found(&request(1, &[]), "x").as_ref(), Some(&a));
            assert_eq!(all.found(&request(2, &[]), "x").as_ref(), Some(&b));
        }
        assert_eq!(all.found(&request(3, &[]), "x").as_ref(), Some(&b), "the last one that began");
        let c = all.begin(&request(4, &[]), "x");
        assert_eq!(
            all.found(&request(3, &[]), "x").as_ref(),
            Some(&b),
            "a line that is known stays where it is"
        );
        assert_eq!(all.found(&request(5, &[]), "x"), Some(c));
    }

    #[tokio::test]
    async fn what_is_remembered_is_bounded() {
        let mut all = Several::new();
        let first = all.begin(&request(1, &[]), "x");
        for n in 0..SIGNS {
            assert!(all.found(&request(1, &[]), "x").is_some());
            all.begin(&request(2, &[]), &n.to_string());
        }
        assert_eq!(all.sessions.state().signs.len(), SIGNS);
        assert_eq!(all.found(&request(1, &[]), "x"), Some(first), "it was used");
        assert_eq!(all.found(&request(2, &[]), "0"), None);
    }
}
