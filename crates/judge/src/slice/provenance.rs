//! The provenance graph: which step used what which earlier step found.

use std::collections::HashMap;

use crate::effect::Effect;
use crate::token::{Salience, TokenId, Tokens};

use super::view::View;

/// Most dependencies kept per step.
const DEPENDENCIES: usize = 64;

/// Most steps with trouble remembered between two changes.
const TROUBLED: usize = 16;

/// From here on a link is evidence; below, it may be chance.
pub(super) const SURE: f32 = 0.5;

/// `from` needed `on`, because of `why`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) on: usize,
    pub(super) why: Why,
    /// 0 to 1: how little it looks like chance. Each shared token counts by its kind and by how few steps
    /// had shown it; several add up as independent evidence does, `1 − Π(1 − w)`.
    pub(super) strength: f32,
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
    /// It takes over from another agent, which named it.
    TakesOver,
}

impl Why {
    /// Whether it is more than that one followed the other.
    pub(super) fn is_evidence(self) -> bool {
        matches!(self, Self::Token(_) | Self::Made(_) | Self::Trouble)
    }
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

/// In how many steps' results a token has come up, and in which last.
#[derive(Debug, Clone, Copy)]
struct Spread {
    first: usize,
    last: usize,
    steps: u32,
}

#[derive(Debug, Default)]
pub(super) struct Provenance {
    /// Per step, what it needed. Positions, earlier ones only.
    pub(super) edges: Vec<Vec<Edge>>,
    /// Per token, the results that showed it, even if the agent had guessed it.
    shown: HashMap<TokenId, Spread>,
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
            let edges = p.needs(at, views, tokens);
            p.edges.push(edges);
            p.learn(at, view, tokens);
        }
        p
    }

    /// The step whose result first showed a token, if any did.
    pub(super) fn shown_by(&self, token: TokenId) -> Option<usize> {
        self.shown.get(&token).map(|s| s.first)
    }

    /// The step that brought a token up itself, before anybody had given it.
    pub(super) fn own(&self, token: TokenId) -> Option<usize> {
        match self.givers.get(&token)? {
            Giver::Own(at) => Some(*at),
            _ => None,
        }
    }

    fn needs(&mut self, at: usize, views: &[View<'_>], tokens: &Tokens) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        if let Some((on, why)) = at.checked_sub(1).and_then(|on| Some((on, follows(&views[on], &views[at])?)))
        {
            edges.push(Edge { on, why, strength: 1.0 });
        }
        if views[at].effect.is_write() {
            let acted = &views[at].target;
            let about = |on: &&usize| acted.iter().any(|t| views[**on].target.contains(t));
            let seen = self.troubled.iter().filter(about);
            edges.extend(seen.map(|on| Edge { on: *on, why: Why::Trouble, strength: 0.8 }));
            edges.dedup_by_key(|e| e.on);
            self.work += self.troubled.len() as u64;
        }
        for token in &views[at].uses {
            self.work += 1;
            let Some((on, why)) = self.link(*token, views) else { continue };
            let strength = self.weight(*token, tokens);
            if let Some(edge) = edges.iter_mut().find(|e| e.on == on) {
                edge.strength = 1.0 - (1.0 - edge.strength) * (1.0 - strength);
            } else if edges.len() < DEPENDENCIES {
                edges.push(Edge { on, why, strength });
            }
        }
        edges
    }

    fn link(&self, token: TokenId, views: &[View<'_>]) -> Option<(usize, Why)> {
        match self.givers.get(&token)? {
            Giver::Task => None,
            Giver::Result(on) => Some((*on, Why::Token(token))),
            Giver::Own(on) if views[*on].writes().is_some() => Some((*on, Why::Made(token))),
            Giver::Own(on) => match self.shown_by(token) {
                Some(shown) => Some((shown, Why::Token(token))),
                None if views[*on].effect == Effect::Think => Some((*on, Why::Token(token))),
                None => None,
            },
        }
    }

    /// How much a token says about where it came from: the rarer so far, the more. An identifier remains
    /// evidence however often it has come up.
    fn weight(&self, token: TokenId, tokens: &Tokens) -> f32 {
        let steps = self.shown.get(&token).map_or(1, |s| s.steps);
        let salience = tokens.salience(token);
        let least = if salience == Salience::Identifier { SURE } else { 0.0 };
        (salience.weight() / (1.0 + (steps as f32).ln())).max(least)
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
            let spread = self.shown.entry(t).or_insert(Spread { first: at, last: at, steps: 1 });
            if spread.last != at {
                (spread.last, spread.steps) = (at, spread.steps + 1);
            }
        });
    }
}

/// Speech has neighbours: an answer follows its question, an act the request or the thought that led to it,
/// and an agent takes over from the one that named it.
fn follows(before: &View<'_>, this: &View<'_>) -> Option<Why> {
    let answers = match (before.is_user(), this.is_user()) {
        (true, true) => false,
        (true, false) => true,
        (false, true) => before.is_words(),
        (false, false) => before.effect == Effect::Think && this.is_tool(),
    };
    if answers {
        return Some(Why::Answers);
    }
    let (from, to) = before.speaker().zip(this.speaker())?;
    (from != to && before.is_words() && before.step.action_detail.contains(to)).then_some(Why::TakesOver)
}
