//! Acts after which the trouble was still there.

use std::collections::{HashMap, HashSet};

use crate::effect::WriteKind;
use crate::token::{TokenId, Tokens};

use super::fate::Fate;
use super::view::{Trouble, View};

/// Marks acts that changed nothing for the better. A restart or a retry leaves nothing lasting: when trouble
/// with the same thing is seen after it and before anything else was done, it did not help. A removal may
/// have helped in part, so only the very same trouble counts against it. What was done last in a run that
/// succeeded is never marked.
pub(super) fn mark(views: &[View<'_>], tokens: &Tokens, solved: bool, fates: &mut [Fate]) {
    let mut watch = Watch::default();
    for (at, view) in views.iter().enumerate().filter(|(_, v)| v.is_tool()) {
        match view.writes() {
            Some(kind @ (WriteKind::Act | WriteKind::Delete)) if fates[at] == Fate::Stands => {
                watch.act(at, kind, views);
            }
            Some(_) => watch.open.clear(),
            None => {}
        }
        // What an attempt that failed says is about the attempt.
        if !(view.failed() && view.effect.is_write()) {
            watch.look(at, views, tokens);
        }
    }
    let last_write = views.iter().rposition(|v| v.writes().is_some());
    for (act, again) in watch.still {
        if last_write > Some(act).max(Some(again)) || !solved {
            fates[act] = Fate::NoEffect(again);
        }
    }
}

#[derive(Default)]
struct Watch {
    kinds: HashSet<u64>,
    dated: HashSet<u64>,
    /// Acts since which nothing else was changed.
    open: Vec<(usize, WriteKind)>,
    /// Per thing, the last act on it.
    done: HashMap<TokenId, usize>,
    last_trouble: Option<usize>,
    /// Acts, with the step that still saw trouble.
    still: Vec<(usize, usize)>,
}

impl Watch {
    fn act(&mut self, at: usize, kind: WriteKind, views: &[View<'_>]) {
        if kind == WriteKind::Delete {
            self.open.clear();
        } else {
            // Trouble came after it, and it was done again to the same thing.
            let target = &views[at].target;
            let before = target.iter().filter_map(|t| self.done.insert(*t, at)).max();
            let same = before.filter(|b| views[*b].target.iter().all(|t| target.contains(t)));
            self.still.extend(same.zip(self.last_trouble).filter(|(b, trouble)| trouble > b));
        }
        self.open.push((at, kind));
    }

    fn look(&mut self, at: usize, views: &[View<'_>], tokens: &Tokens) {
        let view = &views[at];
        let fresh: Vec<Trouble> = view.troubles.iter().filter(|t| self.is_fresh(t)).copied().collect();
        if !view.troubles.is_empty() {
            self.last_trouble = Some(at);
        }
        if fresh.is_empty() {
            return;
        }
        let same = fresh.iter().any(|t| self.kinds.contains(&t.kind));
        let Self { open, still, .. } = self;
        open.retain(|(act, kind)| {
            let about = *act == at || view.looks_at(&views[*act], tokens);
            let helped_not = same || (*kind == WriteKind::Act && about);
            if helped_not {
                still.push((*act, at));
            }
            !helped_not
        });
        self.kinds.extend(fresh.iter().map(|t| t.kind));
    }

    /// A line that a log merely prints a second time, with its old date, is not fresh.
    fn is_fresh(&mut self, trouble: &Trouble) -> bool {
        trouble.dated.is_none_or(|line| self.dated.insert(line))
    }
}
