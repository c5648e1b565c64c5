//! What became of each step: whether its effect stood, was there already, was taken back or replaced.

use std::collections::{HashMap, HashSet};

use crate::effect::{Effect, WriteKind};
use crate::signature;
use crate::token::TokenId;

use super::provenance::{Provenance, Why};
use super::rut;
use super::view::View;

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
pub(super) fn trace(views: &[View<'_>], provenance: &Provenance, solved: bool) -> Fates {
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
    mark_ineffective(views, solved, &mut fates.of);
    mark_rejected(views, &mut fates.of);
    mark_refused(views, &mut fates.of);
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
                _ => (quiet || untouched) && view.result == views[*before].result,
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

/// Words that say the act before them was wrong: the user's answer to it, or what the agent thinks of it later.
fn mark_rejected(views: &[View<'_>], fates: &mut [Fate]) {
    const BY_USER: [&str; 9] = [
        "that's wrong",
        "that is wrong",
        "that was the wrong",
        "not what i asked",
        "not what i wanted",
        "i didn't ask",
        "i did not ask",
        "弄错了",
        "不是我要的",
    ];
    const BY_AGENT: [&str; 8] = [
        "was a mistake",
        "by mistake",
        "was the wrong",
        "was not the cause",
        "wasn't the cause",
        "made it worse",
        "搞错了",
        "不是根因",
    ];
    let mut last: Option<usize> = None;
    let mut fresh = false;
    for (at, view) in views.iter().enumerate() {
        // What an agent thinks before it acts is about what it did before.
        let words = if view.is_tool() { &view.step.reflection } else { &view.step.action_detail };
        let lower = signature::head(words, 2_000).to_lowercase();
        let wrong = match (view.is_user(), fresh) {
            (true, false) => false,
            (true, true) => BY_USER.iter().any(|w| lower.contains(w)),
            (false, _) => BY_AGENT.iter().any(|w| lower.contains(w)),
        };
        if let Some(act) = last.filter(|act| wrong && fates[*act] == Fate::Stands) {
            fates[act] = Fate::Rejected(at);
        }
        if view.is_tool() || view.is_user() {
            fresh = view.writes().is_some();
        }
        if view.writes().is_some() {
            last = Some(at);
        }
    }
}

/// Words answered by a machine that found no act in them.
fn mark_refused(views: &[View<'_>], fates: &mut [Fate]) {
    const REFUSALS: [&str; 10] = [
        "no effective tool call",
        "no valid tool call",
        "no tool call",
        "not formatted correctly",
        "invalid format",
        "could not parse",
        "failed to parse",
        "please call a tool",
        "未检测到工具调用",
        "格式错误",
    ];
    for (at, pair) in views.windows(2).enumerate() {
        let answer = signature::head(&pair[1].step.action_detail, 500).to_lowercase();
        if pair[0].is_words() && pair[1].is_user() && REFUSALS.iter().any(|r| answer.contains(r)) {
            fates[at] = Fate::Refused(at + 1);
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

/// An act that leaves nothing lasting (a restart, a retry) did nothing when the trouble seen before it was
/// seen again before anything else was done, and it took something else, or nothing helped at all.
fn mark_ineffective(views: &[View<'_>], solved: bool, fates: &mut [Fate]) {
    let mut seen = Troubles::default();
    let mut acts: Vec<usize> = Vec::new();
    let mut still: Vec<(usize, usize)> = Vec::new();
    let mut done: HashMap<TokenId, usize> = HashMap::new();
    let mut last_trouble = None;
    for (at, view) in views.iter().enumerate().filter(|(_, v)| v.is_tool()) {
        if !view.troubles.is_empty() {
            last_trouble = Some(at);
        }
        if seen.learn(view) {
            still.extend(acts.drain(..).map(|act| (act, at)));
        }
        match view.writes() {
            Some(WriteKind::Act) if fates[at] == Fate::Stands => {
                acts.push(at);
                // Trouble came after it, and it was done again to the same thing.
                let before = view.target.iter().filter_map(|t| done.insert(*t, at)).max();
                let same = before.filter(|b| views[*b].target.iter().all(|t| view.target.contains(t)));
                still.extend(same.zip(last_trouble).filter(|(b, trouble)| trouble > b));
            }
            Some(_) => acts.clear(),
            None => {}
        }
    }
    let last_write = views.iter().rposition(|v| v.writes().is_some());
    for (act, again) in still {
        if last_write > Some(again) || (!solved && last_trouble == Some(again)) {
            fates[act] = Fate::NoEffect(again);
        }
    }
}

/// Lines of trouble seen so far.
#[derive(Default)]
struct Troubles {
    kinds: HashSet<u64>,
    dated: HashSet<u64>,
}

impl Troubles {
    /// Whether a step shows trouble that was there before it. A line that a log merely prints a second time,
    /// with its old date, does not count.
    fn learn(&mut self, view: &View<'_>) -> bool {
        let mut again = false;
        for trouble in &view.troubles {
            let old = trouble.dated.is_some_and(|line| !self.dated.insert(line));
            again |= !old && self.kinds.contains(&trouble.kind);
        }
        self.kinds.extend(view.troubles.iter().map(|t| t.kind));
        again
    }
}
