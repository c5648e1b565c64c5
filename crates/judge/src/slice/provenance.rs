//! The provenance graph: which step used what which earlier step found.

use std::collections::HashMap;

use crate::effect::Effect;
use crate::token::{TokenId, Tokens};

use super::view::View;

/// Most dependencies kept per step.
const DEPENDENCIES: usize = 64;

/// Most steps with trouble remembered between two changes.
const TROUBLED: usize = 16;

/// `from` needed `on`, because of `why`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) on: usize,
    pub(super) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It used a token that the other one's result or words gave first.
    Token(TokenId),
    /// It acts on what the other one made.
    Made(TokenId),
    /// It acts on a thing after the other one had shown trouble with it.
    Trouble,
    /// It answers the other one, or follows its request.
    Answers,
}

/// Who gave a token first.
#[derive(Debug, Clone, Copy)]
enum Giver {
    /// The task itself, or the user.
    Task,
    Result(usize),
    /// The step's own arguments or words: nobody had said it before.
    Own(usize),
}

#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// Per step, what it needed. Positions, earlier ones only.
    pub(super) edges: Vec<Vec<Edge>>,
    /// Per token, the step whose result showed it first, even if the agent had guessed it.
    shown: HashMap<TokenId, usize>,
    givers: HashMap<TokenId, Giver>,
    /// Steps that have shown trouble since the last change.
    troubled: Vec<usize>,
    /// Operations done, to watch the growth.
    pub(super) work: u64,
}

impl Provenance {
    pub(super) fn build(task: &str, views: &[View<'_>], tokens: &Tokens) -> Self {
        let mut p = Self::default();
        p.work += tokens.scan(task, |t| {
            p.givers.insert(t, Giver::Task);
        });
        for (at, view) in views.iter().enumerate() {
            let edges = p.needs(at, views);
            p.edges.push(edges);
            p.learn(at, view, tokens);
        }
        p
    }

    /// The step whose result first showed a token, if any did.
    pub(super) fn shown_by(&self, token: TokenId) -> Option<usize> {
        self.shown.get(&token).copied()
    }

    fn needs(&mut self, at: usize, views: &[View<'_>]) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        if let Some(on) = at.checked_sub(1).filter(|on| answers(&views[*on], &views[at])) {
            edges.push(Edge { on, why: Why::Answers });
        }
        if views[at].effect.is_write() {
            let acted = &views[at].target;
            let about = |on: &&usize| acted.iter().any(|t| views[**on].target.contains(t));
            edges.extend(self.troubled.iter().filter(about).map(|on| Edge { on: *on, why: Why::Trouble }));
            edges.dedup_by_key(|e| e.on);
            self.work += self.troubled.len() as u64;
        }
        for token in &views[at].uses {
            self.work += 1;
            if let Some(edge) = self.edge(*token, views)
                && edges.len() < DEPENDENCIES
                && edges.iter().all(|e| e.on != edge.on)
            {
                edges.push(edge);
            }
        }
        edges
    }

    fn edge(&self, token: TokenId, views: &[View<'_>]) -> Option<Edge> {
        match self.givers.get(&token)? {
            Giver::Task => None,
            Giver::Result(on) => Some(Edge { on: *on, why: Why::Token(token) }),
            Giver::Own(on) if views[*on].writes().is_some() => Some(Edge { on: *on, why: Why::Made(token) }),
            Giver::Own(on) => match self.shown.get(&token) {
                Some(shown) => Some(Edge { on: *shown, why: Why::Token(token) }),
                None if views[*on].effect == Effect::Think => Some(Edge { on: *on, why: Why::Token(token) }),
                None => None,
            },
        }
    }

    fn learn(&mut self, at: usize, view: &View<'_>, tokens: &Tokens) {
        if view.is_user() {
            let giver = if at == 0 { Giver::Task } else { Giver::Result(at) };
            self.work += tokens.scan(&view.step.action_detail, |t| {
                self.givers.entry(t).or_insert(giver);
            });
        } else {
            for token in &view.uses {
                self.givers.entry(*token).or_insert(Giver::Own(at));
            }
        }
        if view.failed() {
            return;
        }
        if view.writes().is_some() {
            self.troubled.clear();
        } else if !view.troubles.is_empty() && self.troubled.len() < TROUBLED {
            self.troubled.push(at);
        }
        self.work += tokens.scan(&view.step.observation, |t| {
            self.givers.entry(t).or_insert(Giver::Result(at));
            self.shown.entry(t).or_insert(at);
        });
    }
}

/// Speech has neighbours: an answer follows its question, an act the request or the thought that led to it.
fn answers(before: &View<'_>, this: &View<'_>) -> bool {
    match (before.is_user(), this.is_user()) {
        (true, true) => false,
        (true, false) => true,
        (false, true) => before.is_words(),
        (false, false) => before.effect == Effect::Think && this.is_tool(),
    }
}
