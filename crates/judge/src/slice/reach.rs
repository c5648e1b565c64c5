//! The walk back: what the conclusion and the standing writes could not have been reached without.

use std::collections::VecDeque;

use crate::effect::Effect;
use crate::token::{TokenId, Tokens};

use super::ending::Ending;
use super::fate::{Fate, Fates};
use super::provenance::{Provenance, SURE, Why};
use super::view::View;

/// How a step was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    /// It concludes the run.
    Concludes,
    /// It changed something, and the change stands.
    Stands,
    /// The stated result of the run uses what it showed.
    Result(TokenId),
    /// A reached step needed it.
    Step { by: usize, why: Why },
    /// It looked at what a standing write had changed, before the run concluded.
    Checks(usize),
    /// It is what the agent had last looked at when it concluded, and nothing else explains the conclusion.
    Nearest,
}

pub(super) struct Reach {
    pub(super) via: Vec<Option<Via>>,
    /// Whether no link on the way may be chance.
    pub(super) sure: Vec<bool>,
    pub(super) work: u64,
}

impl Reach {
    pub(super) fn walk(
        views: &[View<'_>],
        provenance: &Provenance,
        fates: &Fates,
        ending: &Ending,
        said: &[TokenId],
        tokens: &Tokens,
    ) -> Self {
        let mut reach = Self { via: vec![None; views.len()], sure: vec![true; views.len()], work: 0 };
        reach.mark(roots(views, provenance, fates, ending, said), provenance, fates);
        let unlinked = reach.without_link(views, ending, tokens);
        reach.mark(unlinked, provenance, fates);
        reach
    }

    /// Marks steps and all they needed, first along the links that are sure, then along the others.
    fn mark(&mut self, steps: Vec<(usize, Via)>, provenance: &Provenance, fates: &Fates) {
        let mut marked = Vec::new();
        for (at, via) in steps {
            if self.via[at].is_none() {
                self.via[at] = Some(via);
                marked.push(at);
            }
        }
        let mut unsure = Vec::new();
        self.follow(marked, SURE, &mut unsure, provenance, fates);
        let known: Vec<bool> = self.via.iter().map(Option::is_some).collect();
        self.follow(unsure, 0.0, &mut Vec::new(), provenance, fates);
        for (at, known) in known.into_iter().enumerate() {
            self.sure[at] &= known || self.via[at].is_none();
        }
    }

    /// Follows links of at least `strength`; steps with weaker ones are kept in `weaker`.
    fn follow(
        &mut self,
        from: Vec<usize>,
        strength: f32,
        weaker: &mut Vec<usize>,
        provenance: &Provenance,
        fates: &Fates,
    ) {
        let mut queue = VecDeque::from(from);
        while let Some(by) = queue.pop_front() {
            for edge in &provenance.edges[by] {
                self.work += 1;
                let (on, why) = (edge.on, edge.why);
                // That a mistake was taken back does not make the mistake needed.
                if self.via[on].is_some() || fates.undoes.get(&by) == Some(&on) {
                    continue;
                }
                if edge.strength < strength {
                    weaker.push(by);
                } else {
                    self.via[on] = Some(Via::Step { by, why });
                    queue.push_back(on);
                }
            }
        }
    }

    /// Reads that support the conclusion though no token shows it.
    fn without_link(&self, views: &[View<'_>], ending: &Ending, tokens: &Tokens) -> Vec<(usize, Via)> {
        let Some(end) = ending.end else { return Vec::new() };
        let read =
            |at: &usize| views[*at].effect == Effect::Read && views[*at].is_tool() && !views[*at].failed();
        if let Some(write) = views.iter().rposition(|v| v.writes().is_some()) {
            // With nobody speaking in between, every look after the last change is a look at what it did.
            let alone = !views[write..end].iter().any(View::is_user);
            let about = |at: &usize| alone || views[*at].looks_at(&views[write], tokens);
            return (write + 1..end).filter(read).filter(about).map(|at| (at, Via::Checks(write))).collect();
        }
        if views.iter().zip(&self.via).any(|(v, via)| v.is_tool() && via.is_some()) {
            return Vec::new();
        }
        let last = (0..end).rev().skip_while(|at| !read(at));
        last.take_while(read).map(|at| (at, Via::Nearest)).collect()
    }
}

fn roots(
    views: &[View<'_>],
    provenance: &Provenance,
    fates: &Fates,
    ending: &Ending,
    said: &[TokenId],
) -> Vec<(usize, Via)> {
    let mut roots: Vec<(usize, Via)> = ending.conclusion.map(|at| (at, Via::Concludes)).into_iter().collect();
    let standing = |at: &usize| views[*at].writes().is_some() && fates.of[*at] == Fate::Stands;
    roots.extend((0..views.len()).filter(standing).map(|at| (at, Via::Stands)));
    roots.extend(said.iter().filter_map(|t| provenance.shown_by(*t).map(|at| (at, Via::Result(*t)))));
    roots
}
