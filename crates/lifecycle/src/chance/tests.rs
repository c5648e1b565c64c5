use proptest::prelude::*;

use super::*;

/// P(p₁ > p₀) of whole numbers, as a sum (Miller 2014, "Formulas for Bayesian A/B testing", equation 6).
fn exact(first: Beta, second: Beta) -> f64 {
    let term = |i: u32| {
        let i = f64::from(i);
        let ln = (second.a + i).ln_beta(first.b + second.b)
            - (first.b + i).ln()
            - (1.0 + i).ln_beta(first.b)
            - second.a.ln_beta(second.b);
        ln.exp()
    };
    (0..first.a as u32).map(term).sum()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn known_values() {
    let even = Beta::seen(0.0, 0.0);
    assert!(near(even.below(0.3), 0.3) && near(even.exceeds(even, 0.0), 0.5));
    assert!(near(even.exceeds(even, 0.5), 0.125), "a corner of the square");
    assert!(near(even.exceeds(even, -0.5), 0.875));
    assert_eq!((even.exceeds(even, 1.0), even.exceeds(even, -1.0)), (0.0, 1.0));
    assert!(near(Beta::seen(3.0, 0.0).mean(), 0.8));
    // Cauchy, the normal in the limit, and a table of Student's.
    assert!(near(student_below(1.0, 1.0), 0.75) && near(student_below(-1.0, 1.0), 0.25));
    assert!((student_below(1.959_964, 1e6) - 0.975).abs() < 1e-5);
    assert!((student_quantile(0.95, 5.0) - 2.015_048).abs() < 1e-5);
    assert!((student_quantile(0.05, 1.0) + 6.313_752).abs() < 1e-5);
}

proptest! {
    #[test]
    fn quadrature_agrees_with_the_sum(a in 0..200u32, b in 0..200u32, c in 0..200u32, d in 0..200u32) {
        let (first, second) = (Beta::seen(a.into(), b.into()), Beta::seen(c.into(), d.into()));
        let (found, exact) = (first.exceeds(second, 0.0), exact(first, second));
        prop_assert!((found - exact).abs() < 1e-9, "{found} for {exact}");
    }

    #[test]
    fn what_exceeds_is_exceeded_the_other_way(
        a in 0.0..40.0, b in 0.0..40.0, c in 0.0..40.0, d in 0.0..40.0, margin in -0.9..0.9,
    ) {
        let (first, second) = (Beta::seen(a, b), Beta::seen(c, d));
        let (one, other) = (first.exceeds(second, margin), second.exceeds(first, -margin));
        prop_assert!((one + other - 1.0).abs() < 1e-6, "{one} and {other}");
        prop_assert!(first.exceeds(second, margin - 0.05) >= one - 1e-9);
    }
}
