//! Who called whom among the spans that are there.

use std::collections::HashMap;

use hindsight_types::{AgentId, SpanRole, TraceSpan};

/// Longest way up that is followed.
const GENERATIONS: usize = 256;

/// The spans that each span was called by, from the nearest to the farthest, by their place among the spans.
/// A parent that is not there ends the way.
pub(super) struct Family<'a> {
    spans: &'a [TraceSpan],
    parents: Vec<Option<usize>>,
}

impl<'a> Family<'a> {
    pub(super) fn of(spans: &'a [TraceSpan]) -> Self {
        let places: HashMap<_, usize> = spans.iter().enumerate().map(|(at, s)| (&s.span_id, at)).collect();
        let parents = spans.iter().map(|s| places.get(s.parent.as_ref()?).copied()).collect();
        let mut family = Self { spans, parents };
        // Nobody is called by what they called themselves.
        for at in 0..spans.len() {
            if family.callers(at).any(|caller| caller == at) {
                family.parents[at] = None;
            }
        }
        family
    }

    pub(super) fn callers(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.parents[at], |at| self.parents[*at]).take(GENERATIONS)
    }

    /// Whether an agent called it.
    pub(super) fn is_within_agent(&self, at: usize) -> bool {
        self.callers(at).any(|c| self.spans[c].role == SpanRole::Agent)
    }

    /// Whether it is the work of an agent that another agent called.
    pub(super) fn is_within_inner_agent(&self, at: usize) -> bool {
        self.callers(at).filter(|c| self.spans[*c].role == SpanRole::Agent).take(2).count() == 2
    }

    /// The nearest caller of this role.
    pub(super) fn nearest(&self, at: usize, role: SpanRole) -> Option<usize> {
        self.callers(at).find(|c| self.spans[*c].role == role)
    }

    /// Whose work it is.
    pub(super) fn agent(&self, at: usize) -> Option<&'a AgentId> {
        let own = std::iter::once(at).chain(self.callers(at));
        own.filter_map(|at| self.spans[at].task.agent.as_ref()).next()
    }
}
