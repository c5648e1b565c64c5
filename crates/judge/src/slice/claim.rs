//! Facts that an agent states though nothing in the run had shown them.

use std::collections::HashMap;

use crate::token::TokenId;

use super::Case;

/// Per step of words, a fact of its own making that a later step built on. Only facts with figures count: a
/// name may be common knowledge, a number that nobody gave is made up or remembered.
pub(super) fn unfounded(case: &Case<'_>) -> HashMap<usize, (TokenId, usize)> {
    let mut claims: HashMap<usize, (TokenId, usize)> = HashMap::new();
    for (by, view) in
        case.views.iter().enumerate().filter(|(by, v)| !v.is_user() && case.reach.via[*by].is_some())
    {
        for token in &view.uses {
            let made = case.provenance.own(*token).filter(|at| *at < by && case.views[*at].is_words());
            if let Some(at) = made.filter(|_| case.tokens.is_figure(*token)) {
                claims.entry(at).or_insert((*token, by));
            }
        }
    }
    claims
}
