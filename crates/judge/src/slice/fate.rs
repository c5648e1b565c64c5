//! What became of each step: whether its effect stood, was there already, was taken back or replaced.

use std::collections::{HashMap, HashSet};

use crate::effect::{Effect, WriteKind};
use crate::token::{TokenId, Tokens};

use super::provenance::{Provenance, Why};
use super::view::View;
use super::{hypothesis, ineffective, poll, rut, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Stands,
    /// The same call gave the same result before, and nothing changed between.
    Repeats(usize),
    /// The result says that nothing changed.
    NoChange,
    /// The state it returned was there already, as the other step shows.
    SameState(usize),
    /// Taken back by a later step.
    Undone(usize),
    /// A later step put the same thing into another state.
    Replaced(usize),
    /// It asked what `before` had asked, in other words, and brought nearly nothing new; `stale_since` is
    /// where the same line had already brought nothing.
    AsksAgain {
        before: usize,
        stale_since: Option<usize>,
    },
    /// A look in a loop of equal ones; the last of them saw the end of the waiting.
    Waits(usize),
    /// It looked into something that the later step says was not the cause.
    GivenUp(usize),
    /// Words that the other side could not take as an act: the later step says so.
    Refused(usize),
    /// The user, or the agent itself, said later that it was wrong.
    Rejected(usize),
    /// The later step still saw the trouble that had been there before.
    NoEffect(usize),
}

pub(super) struct Fates {
    pub(super) of: Vec<Fate>,
    /// Per step that takes something back, what it took back.
    pub(super) undoes: HashMap<usize, usize>,
}

/// `solved`: the run is known to have succeeded.
pub(super) fn trace(views: &[View<'_>], provenance: &Provenance, tokens: &Tokens, solved: bool) -> Fates {
    let mut book = Book::default();
    let mut fates = Fates { of: vec![Fate::Stands; views.len()], undoes: HashMap::new() };
    for (at, view) in views.iter().enumerate().filter(|(_, v)| v.is_tool() && !v.failed()) {
        if let Some(fate) = book.at_once(at, view, views) {
            fates.of[at] = fate;
        } else if let Some(kind) = view.writes() {
            if let Some(done) = book.taken_back(kind, view, views, &provenance.edges[at]) {
                fates.of[done] = Fate::Undone(at);
                book.made.remove(&done);
                fates.undoes.insert(at, done);
            } else if let Some(old) = book.replaced(kind, view) {
                fates.of[old] = Fate::Replaced(at);
            }
            book.write(at, kind, view);
        }
        book.see(at, view);
    }
    ineffective::mark(views, tokens, solved, &mut fates.of);
    words::mark_rejected(views, tokens, &mut fates.of);
    words::mark_refused(views, &mut fates.of);
    poll::mark(views, &mut fates.of);
    hypothesis::mark(views, tokens, &mut fates.of);
    rut::mark(views, &mut fates.of);
    fates
}

#[derive(Default)]
struct Book {
    /// Per call, where it was last made with an effect of its own, and how many writes there were by then.
    calls: HashMap<u64, (usize, usize)>,
    writes: usize,
    /// Per token, the last write that acts on it, and the last state seen of it.
    last_write: HashMap<TokenId, usize>,
    last_state: HashMap<TokenId, (u64, usize)>,
    /// Per token, the last write that made or changed it and still stands.
    lasting: HashMap<TokenId, usize>,
    last_lasting: Option<usize>,
    /// Writes that made something which nobody has taken back.
    made: HashSet<usize>,
    put: HashMap<u64, usize>,
}

impl Book {
    /// A fate that is known from the past alone.
    fn at_once(&self, at: usize, view: &View<'_>, views: &[View<'_>]) -> Option<Fate> {
        if let Some((before, writes)) = self.calls.get(&view.call) {
            let quiet = *writes == self.writes;
            // Nothing but the earlier call itself has acted on the same things since.
            let untouched = !view.target.is_empty()
                && view.target.iter().all(|t| self.last_write.get(t).is_none_or(|w| w <= before));
            let same = match view.effect {
                Effect::Write(WriteKind::Act | WriteKind::Change) => quiet,
                Effect::Write(_) => quiet || untouched,
                // Trouble that a change left as it was is what the look was for.
                _ => {
                    (quiet || (untouched && view.troubles.is_empty())) && view.result == views[*before].result
                }
            };
            if same {
                return Some(Fate::Repeats(*before));
            }
        }
        let kind = view.writes()?;
        if says_no_change(&view.step.observation) {
            return Some(Fate::NoChange);
        }
        let state = view.state.filter(|_| kind != WriteKind::Create)?;
        view.target
            .iter()
            .find_map(|t| self.last_state.get(t).filter(|(s, seen)| *s == state && *seen < at))
            .map(|(_, seen)| Fate::SameState(*seen))
    }

    /// The earlier write that this one takes back.
    fn taken_back(
        &self,
        kind: WriteKind,
        view: &View<'_>,
        views: &[View<'_>],
        edges: &[super::provenance::Edge],
    ) -> Option<usize> {
        match kind {
            WriteKind::Delete => {
                let made = edges.iter().map(|e| e.on).find(|on| {
                    views[*on].writes() == Some(WriteKind::Create)
                        && !edges.iter().any(|e| e.on == *on && e.why == Why::Answers)
                });
                made.filter(|m| self.made.contains(m)).or_else(|| self.same_thing_made(view, views))
            }
            WriteKind::Undo => {
                let named = view.target.iter().filter_map(|t| self.lasting.get(t)).max().copied();
                let any = self.last_lasting.filter(|l| {
                    view.target.is_empty() || views[*l].step.action_name == view.step.action_name
                });
                named.or(any)
            }
            _ => None,
        }
    }

    /// A thing made under the very names by which it is now deleted.
    fn same_thing_made(&self, view: &View<'_>, views: &[View<'_>]) -> Option<usize> {
        let made = view.target.iter().filter_map(|t| self.lasting.get(t)).max().copied()?;
        let maker = &views[made];
        let all = view.target.iter().all(|t| maker.target.contains(t));
        let alike = maker.step.action_name == view.step.action_name
            || view.nouns.iter().any(|n| maker.nouns.contains(n))
            || (view.nouns.is_empty() && maker.nouns.is_empty());
        (maker.writes() == Some(WriteKind::Create) && all && alike).then_some(made)
    }

    fn replaced(&self, kind: WriteKind, view: &View<'_>) -> Option<usize> {
        (kind == WriteKind::Put).then(|| self.put.get(&view.identity?).copied())?
    }

    fn write(&mut self, at: usize, kind: WriteKind, view: &View<'_>) {
        self.writes += 1;
        for t in &view.target {
            self.last_write.insert(*t, at);
            match kind {
                WriteKind::Create | WriteKind::Put | WriteKind::Change => {
                    self.lasting.insert(*t, at);
                }
                WriteKind::Delete | WriteKind::Undo => {
                    self.lasting.remove(t);
                }
                WriteKind::Act => {}
            }
        }
        if matches!(kind, WriteKind::Create | WriteKind::Put | WriteKind::Change) {
            self.last_lasting = Some(at);
        }
        if kind == WriteKind::Create {
            self.made.insert(at);
        }
        if let Some(identity) = view.identity.filter(|_| kind == WriteKind::Put) {
            self.put.insert(identity, at);
        }
    }

    fn see(&mut self, at: usize, view: &View<'_>) {
        self.calls.insert(view.call, (at, self.writes));
        if let Some(state) = view.state {
            for t in &view.target {
                self.last_state.insert(*t, (state, at));
            }
        }
    }
}

fn says_no_change(result: &str) -> bool {
    const WORDS: [&str; 14] = [
        "no change",
        "unchanged",
        "nothing to commit",
        "not modified",
        "up to date",
        "up-to-date",
        "already exists",
        "already in",
        "already set",
        "无变化",
        "没有变化",
        "未发生变化",
        "已经是",
        "无需",
    ];
    if result.len() > 400 {
        return false;
    }
    let lower = result.to_lowercase();
    WORDS.iter().any(|w| lower.contains(w))
}
