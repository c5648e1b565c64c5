//! Distributions of what is not known, and how they compare. Deterministic: the same numbers, the same answer.

use std::{f64::consts::PI, sync::LazyLock};

use special::Beta as _;

/// The share of successes after what was seen, begun with one success and one failure that nobody saw (the uniform
/// prior of Bayes and Laplace). Weights of runs may be fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beta {
    a: f64,
    b: f64,
}

impl Beta {
    pub(crate) fn seen(good: f64, bad: f64) -> Self {
        Self { a: 1.0 + good, b: 1.0 + bad }
    }

    pub(crate) fn mean(self) -> f64 {
        self.a / (self.a + self.b)
    }

    /// P(X < x): the regularised incomplete beta function.
    pub(crate) fn below(self, x: f64) -> f64 {
        if x <= 0.0 {
            0.0
        } else if x >= 1.0 {
            1.0
        } else {
            x.inc_beta(self.a, self.b, self.a.ln_beta(self.b)).clamp(0.0, 1.0)
        }
    }

    /// P(X − `other` > `margin`) of the two, taken independently: ∫ f(x) F(x − margin) dx.
    pub(crate) fn exceeds(self, other: Self, margin: f64) -> f64 {
        let (from, until) = (margin.max(0.0), (1.0 + margin).min(1.0));
        let (width, ln_beta) = (until - from, self.a.ln_beta(self.b));
        if width <= 0.0 {
            return if margin < 0.0 { 1.0 } else { 0.0 };
        }
        let area: f64 = NODES
            .iter()
            .map(|node| {
                let (x, left) = (from + width * node.x, (1.0 - until) + width * node.left);
                let density = ((self.a - 1.0) * x.ln() + (self.b - 1.0) * left.ln() - ln_beta).exp();
                node.weight * density * other.below(x - margin)
            })
            .sum();
        // Beyond `until` nothing of the other is left.
        (width * area + 1.0 - self.below(until)).clamp(0.0, 1.0)
    }
}

/// A point of the quadrature over 0 to 1, `left` its distance to 1.
struct Node {
    x: f64,
    left: f64,
    weight: f64,
}

/// Tanh-sinh quadrature (Takahasi & Mori 1974, "Double exponential formulas for numerical integration"): exact to
/// nine digits and more for a few hundred runs, whatever the density does at the ends.
static NODES: LazyLock<Vec<Node>> = LazyLock::new(|| {
    const STEPS: i32 = 48;
    let node = |n: i32| {
        let t = f64::from(n) / f64::from(STEPS);
        let twice = PI * t.sinh();
        let (x, left) = (1.0 / (1.0 + (-twice).exp()), 1.0 / (1.0 + twice.exp()));
        Node { x, left, weight: PI * t.cosh() * x * left / f64::from(STEPS) }
    };
    (-3 * STEPS..=3 * STEPS).map(node).collect()
});

/// P(T < t) of Student's distribution with `freedom` degrees of freedom, by the incomplete beta function
/// (Abramowitz & Stegun 26.7.1).
pub(crate) fn student_below(t: f64, freedom: f64) -> f64 {
    let (a, b) = (freedom / 2.0, 0.5);
    let x: f64 = freedom / (freedom + t * t);
    let tail = x.inc_beta(a, b, a.ln_beta(b)).clamp(0.0, 1.0) / 2.0;
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// The t below which Student's distribution has this share.
pub(crate) fn student_quantile(share: f64, freedom: f64) -> f64 {
    // With one degree of freedom, the fewest that occur, 99.9 % lie within this.
    crossing(-1_000.0, 1_000.0, |t| student_below(t, freedom) >= share)
}

/// Where a condition that is false at `low` and true at `high` begins to hold.
pub(crate) fn crossing(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // Twelve digits of a difference of shares, eight of a quantile.
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests;
