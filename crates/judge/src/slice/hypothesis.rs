//! Suspicions that were looked into and given up.

use std::collections::HashMap;

use crate::effect::Effect;
use crate::token::{Salience, TokenId, Tokens};
use hindsight_text::truncate_chars;

use super::fate::Fate;
use super::view::View;

/// Words by which a suspicion is given up.
const GIVEN_UP: &str = "ruled out|rule out|rules out|not the cause|not the culprit|not the problem|not the issue|\
    not the reason|not the root cause|not related to|unrelated to|nothing to do with|red herring|dead end|\
    isn't the cause|isn't the problem|wasn't the cause|was not the cause|排除|不是原因|不是根因|不是问题所在|\
    并非原因|无关|不成立";
/// How much of what was thought is searched, in characters.
const SEARCHED: usize = 4_000;

/// Looks at more steps than that are not about one suspicion.
const LOOKS: usize = 4;

/// Marks looks at a thing that was later said not to be the cause.
pub(super) fn mark(views: &[View<'_>], tokens: &Tokens, fates: &mut [Fate]) {
    // Per thing, the looks at it since it was last given up.
    let mut open: HashMap<TokenId, Vec<usize>> = HashMap::new();
    for (at, view) in views.iter().enumerate() {
        for thing in given_up(view, tokens) {
            for look in open.remove(&thing).filter(|l| l.len() <= LOOKS).into_iter().flatten() {
                if fates[look] == Fate::Stands {
                    fates[look] = Fate::GivenUp(at);
                }
            }
        }
        if view.is_tool() && view.effect == Effect::Read && !view.failed() {
            for thing in &view.target {
                open.entry(*thing).or_default().push(at);
            }
        }
    }
}

/// The things that a step's thoughts say are not the cause.
fn given_up(view: &View<'_>, tokens: &Tokens) -> Vec<TokenId> {
    let mut things = Vec::new();
    for text in view.thoughts() {
        for clause in clauses(truncate_chars(text, SEARCHED)).filter(|c| gives_up(c)) {
            tokens.scan(clause, |thing| {
                // A number names no suspect.
                if tokens.salience(thing) != Salience::Number {
                    things.push(thing);
                }
            });
        }
    }
    things
}

fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(". ").flat_map(|s| s.split([',', ';', '\n', '。', '，', '；', '!', '！', '?', '？']))
}

fn gives_up(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    GIVEN_UP.split('|').any(|w| lower.contains(w))
}
