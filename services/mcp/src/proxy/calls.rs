//! Calls under way, and which of them an answer belongs to.

use std::collections::VecDeque;

use super::message::Id;

/// Calls without an answer that are remembered; beyond, the oldest is forgotten.
pub(crate) const CALLS: usize = 1024;

/// What a message came by. The ids of those that are asked by one way are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// What a connection has in common: a pipe, or a stream on which the server says what it likes.
    Common,
    /// A request over HTTP with its response, by number. Clients that look the same may count alike.
    Exchange(u64),
}

/// What is known of calls until they are answered, in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Calls<T>(VecDeque<(Way, Id, T)>);

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Calls<T> {
    /// Remembers a call. What is forgotten for it is returned: one that came the same way with the same id, or the
    /// oldest of too many.
    pub(crate) fn put(&mut self, way: Way, id: Id, call: T) -> Option<T> {
        let same = self.0.iter().position(|(w, i, _)| *w == way && *i == id);
        let forgotten = same.or((self.0.len() >= CALLS).then_some(0)).and_then(|at| self.0.remove(at));
        self.0.push_back((way, id, call));
        forgotten.map(|(_, _, call)| call)
    }

    /// The call that is answered, or cancelled, by a message with this id. By the common way it is the one call with
    /// this id: of several it cannot be told which is meant.
    pub(crate) fn take(&mut self, way: Way, id: &Id) -> Option<T> {
        let mut fitting =
            self.0.iter().enumerate().filter(|(_, (w, i, _))| i == id && (way == Way::Common || *w == way));
        let (at, _) = fitting.next()?;
        if fitting.next().is_some() {
            return None;
        }
        self.0.remove(at).map(|(_, _, call)| call)
    }

    /// Gives all calls away, the first one first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.0).into_iter().map(|(_, _, call)| call)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn id(n: u64) -> Id {
        Id::of(&Value::from(n)).unwrap()
    }

    #[test]
    fn an_answer_belongs_to_the_request_that_it_answers() {
        let mut calls = Calls::default();
        for exchange in 0..3 {
            assert_eq!(calls.put(Way::Exchange(exchange), id(1), exchange), None);
        }
        assert_eq!(calls.take(Way::Exchange(1), &id(1)), Some(1));
        assert_eq!(calls.take(Way::Exchange(1), &id(1)), None, "it was answered");
        assert_eq!(calls.take(Way::Common, &id(1)), None, "it could be either");
        assert_eq!(calls.take(Way::Exchange(0), &id(1)), Some(0));
        assert_eq!(calls.take(Way::Common, &id(1)), Some(2), "the one that is left");
    }

    #[test]
    fn what_is_forgotten_is_the_same_call_or_the_oldest_of_too_many() {
        let mut calls = Calls::default();
        for n in 0..CALLS as u64 {
            assert_eq!(calls.put(Way::Common, id(n), n), None);
        }
        assert_eq!(calls.put(Way::Common, id(7), 70), Some(7));
        assert_eq!(calls.put(Way::Exchange(1), id(7), 71), Some(0));
        assert_eq!((calls.len(), calls.take(Way::Common, &id(0))), (CALLS, None));
        assert_eq!(calls.drain().last(), Some(71));
        assert!(calls.is_empty());
    }
}
