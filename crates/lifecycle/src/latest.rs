use crate::chance::Beta;

/// What is less likely than this is forgotten.
const NEGLIGIBLE: f64 = 1e-6;
/// Moments of change that are told apart; of earlier ones, two count as one.
const MOMENTS: usize = 100;

/// How often something holds now, of a world that may have changed at any time and not said so: for every moment at
/// which it may have changed last, how likely that is and what was seen since (Adams & MacKay 2007, "Bayesian online
/// changepoint detection", arXiv 0710.3742). What held for long is given up after a handful of failures; what holds
/// only now and then takes more of them.
#[derive(Debug, Clone)]
pub(crate) struct Latest {
    /// Chance that the world changes from one run to the next.
    hazard: f64,
    since: Vec<Since>,
}

#[derive(Debug, Clone, Copy)]
struct Since {
    weight: f64,
    good: f64,
    bad: f64,
}

impl Since {
    fn begun(weight: f64) -> Self {
        Self { weight, good: 0.0, bad: 0.0 }
    }

    /// Two whose runs are nearly the same: those of the likelier one.
    fn and(self, other: Self) -> Self {
        let likelier = if self.weight >= other.weight { self } else { other };
        Self { weight: self.weight + other.weight, ..likelier }
    }

    fn after(mut self, good: bool) -> Self {
        let held = Beta::seen(self.good, self.bad).mean();
        self.weight *= if good { held } else { 1.0 - held };
        if good {
            self.good += 1.0
        } else {
            self.bad += 1.0
        }
        self
    }
}

impl Latest {
    /// `lasting`: how many runs the world is expected to stay as it is.
    pub(crate) fn new(lasting: f64) -> Self {
        Self { hazard: 1.0 / lasting.max(1.0), since: vec![Since::begun(1.0)] }
    }

    pub(crate) fn add(&mut self, good: bool) {
        let stayed = self.since.iter().map(|s| Since { weight: s.weight * (1.0 - self.hazard), ..*s });
        let next: Vec<Since> =
            stayed.chain([Since::begun(self.hazard)]).map(|since| since.after(good)).collect();
        let total: f64 = next.iter().map(|s| s.weight).sum();
        let shares = next.into_iter().map(|s| Since { weight: s.weight / total, ..s });
        self.since = shares.filter(|s| s.weight > NEGLIGIBLE).collect();
        if self.since.len() > MOMENTS {
            let first = self.since.remove(0);
            self.since[0] = first.and(self.since[0]);
        }
    }

    /// P(it holds now in less than `share` of the runs).
    pub(crate) fn below(&self, share: f64) -> f64 {
        let total: f64 = self.since.iter().map(|s| s.weight).sum();
        let below = |s: &Since| s.weight * Beta::seen(s.good, s.bad).below(share);
        (self.since.iter().map(below).sum::<f64>() / total).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seen: &[(bool, u32)]) -> Latest {
        let mut latest = Latest::new(40.0);
        for (good, times) in seen {
            (0..*times).for_each(|_| latest.add(*good));
        }
        latest
    }

    /// Failures after which it is likely (0.9) that it does not hold any more.
    fn patience(held: &[(bool, u32)]) -> u32 {
        let mut latest = after(held);
        (1..)
            .find(|_| {
                latest.add(false);
                latest.below(0.5) >= 0.9
            })
            .unwrap()
    }

    #[test]
    fn what_always_held_is_given_up_after_a_handful() {
        let after = |held| patience(&[(true, held)]);
        assert_eq!([6, 20, 100, 1_000].map(after), [6, 4, 4, 4]);
    }

    #[test]
    fn what_failed_before_takes_more() {
        let mut held = Vec::new();
        (0..20).for_each(|_| held.extend([(true, 3), (false, 1), (true, 2), (false, 1)]));
        assert!(patience(&held) >= 5, "{}", patience(&held));
    }

    #[test]
    fn little_says_little() {
        assert!(after(&[]).below(0.5) == 0.5);
        assert!(after(&[(false, 2)]).below(0.5) < 0.9);
        assert!(after(&[(false, 3)]).below(0.5) >= 0.9);
        assert!(after(&[(false, 9), (true, 9)]).below(0.5) < 0.2, "it holds again");
    }

    #[test]
    fn long_streams_stay_small() {
        let mut held = Vec::new();
        (0..500).for_each(|_| held.extend([(true, 3), (false, 2)]));
        let latest = after(&held);
        assert!(latest.since.len() <= MOMENTS, "{}", latest.since.len());
        assert!((0.0..=1.0).contains(&latest.below(0.5)));
    }
}
