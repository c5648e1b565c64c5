use hindsight_types::{
    Evidence, EvidencePolicy, Exposure, Gate, OutcomeStatus, Review, ReviewDecision, Stage, Verdict,
};

use super::{Standing, words};
use crate::{
    latest::Latest,
    uplift::{Comparison, Tally},
};

/// What is confirmed less often than this is contradicted rather than confirmed.
const HALF: f64 = 0.5;
/// Success counts as equal when it is as good with this probability.
const LIKELY: f64 = 0.8;

/// A lesson as what is said of it comes in.
pub(super) struct Machine<'a> {
    policy: &'a EvidencePolicy,
    stage: Stage,
    why: String,
    supported: u32,
    refuted: u32,
    /// What was seen since it was last approved.
    injected: Tally,
    withheld: Tally,
    confirmed: Latest,
    review: Option<&'a Review>,
}

/// What a run may have changed.
#[derive(Default)]
struct News {
    better: bool,
    worse: bool,
}

impl<'a> Machine<'a> {
    pub(super) fn new(policy: &'a EvidencePolicy) -> Self {
        let window = f64::from(policy.window);
        let (stage, why) = match policy.gate {
            Gate::Evidence | Gate::People => (Stage::Candidate, words::learned()),
            Gate::Off => (Stage::Active, words::ungated()),
        };
        Self {
            policy,
            stage,
            why,
            supported: 0,
            refuted: 0,
            injected: Tally::new(window),
            withheld: Tally::new(window),
            // The world lasts longer than what is remembered of it.
            confirmed: Latest::new(2.0 * window),
            review: None,
        }
    }

    pub(super) fn review(&mut self, review: &'a Review) {
        self.review = Some(review);
        self.why = words::reviewed(review);
        self.stage = match review.decision {
            ReviewDecision::Rejected => Stage::Retired,
            ReviewDecision::Approved => {
                // It is measured anew: what was known was known to whoever approved it.
                let fresh = Self::new(self.policy);
                (self.injected, self.withheld, self.confirmed) =
                    (fresh.injected, fresh.withheld, fresh.confirmed);
                Stage::Active
            }
        };
    }

    pub(super) fn run(&mut self, line: &Evidence) {
        let news = self.note(line);
        if self.policy.gate == Gate::Off {
            return;
        }
        if self.stage != Stage::Retired && news.worse && self.harms() >= self.policy.retire {
            self.why = words::harmful(self);
            self.stage = Stage::Retired;
        }
        if self.policy.gate == Gate::People {
            return;
        }
        if self.stage == Stage::Candidate && self.supported > 0 {
            self.why = words::confirmed(self.supported);
            self.stage = Stage::Canary;
        }
        if self.stage == Stage::Canary && news.better && self.helps() >= self.policy.promote {
            self.why = words::helpful(self);
            self.stage = Stage::Active;
        }
    }

    fn note(&mut self, line: &Evidence) -> News {
        let mut news = News::default();
        match line.verdict {
            Verdict::Supported => self.supported += 1,
            Verdict::Refuted => self.refuted += 1,
            Verdict::Ignored => {}
        }
        if line.verdict != Verdict::Ignored {
            self.confirmed.add(line.verdict == Verdict::Supported);
            news.worse |= line.verdict == Verdict::Refuted;
        }
        let failed = line.outcome != OutcomeStatus::Success;
        match line.exposure {
            Exposure::Injected => {
                self.injected.add(line);
                news.worse |= failed;
                news.better = true;
            }
            Exposure::Withheld => {
                self.withheld.add(line);
                news.worse |= !failed;
                news.better = true;
            }
            Exposure::Observed => {}
        }
        news
    }

    pub(super) fn comparison(&self) -> Comparison<'_> {
        Comparison { with: &self.injected, without: &self.withheld, needed: self.policy.runs }
    }

    pub(super) fn helps(&self) -> f64 {
        let compared = self.comparison();
        let Some(better) = compared.better() else { return HALF };
        if better >= self.policy.promote || compared.as_good().is_none_or(|p| p < LIKELY) {
            return better;
        }
        let savings = [compared.steps(), compared.tokens()].into_iter().flatten();
        savings.map(|s| s.probability()).fold(better, f64::max)
    }

    pub(super) fn harms(&self) -> f64 {
        self.worse().max(self.contradicted())
    }

    /// P(success is less likely with it).
    pub(super) fn worse(&self) -> f64 {
        self.comparison().better().map_or(0.0, |better| 1.0 - better)
    }

    /// P(it is contradicted rather than confirmed by now). Where runs without it fail more often than not, it need
    /// not do better than they.
    pub(super) fn contradicted(&self) -> f64 {
        let known = self.withheld.runs() >= self.policy.runs;
        let without = if known { self.withheld.success().mean() } else { HALF };
        self.confirmed.below(without.min(HALF))
    }

    pub(super) fn standing(&self) -> Standing {
        let compared = self.comparison();
        Standing {
            stage: self.stage,
            supported: self.supported,
            refuted: self.refuted,
            injected: self.injected.arm(),
            withheld: self.withheld.arm(),
            success: compared.success(),
            steps: compared.steps().map(|s| s.uplift()),
            tokens: compared.tokens().map(|s| s.uplift()),
            helps: self.helps(),
            harms: self.harms(),
            why: self.why.clone(),
            next: words::next(self),
        }
    }

    pub(super) fn policy(&self) -> &EvidencePolicy {
        self.policy
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) fn approval(&self) -> Option<&Review> {
        self.review.filter(|r| r.decision == ReviewDecision::Approved)
    }

    pub(super) fn counts(&self) -> (u32, u32) {
        (self.supported, self.refuted)
    }
}
