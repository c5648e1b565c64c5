//! Precision, recall and F1.

use serde::Serialize;

/// Counts for one class.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Class {
    pub(super) precision: f64,
    pub(super) recall: f64,
    pub(super) f1: f64,
    pub(super) support: usize,
}

/// Scores one class over (reference, predicted) pairs. A class that is never predicted has precision 0.
pub(super) fn class<T: PartialEq>(pairs: &[(T, T)], wanted: &T) -> Class {
    let count = |f: &dyn Fn(&(T, T)) -> bool| pairs.iter().filter(|p| f(p)).count() as f64;
    let hit = count(&|(r, p)| r == wanted && p == wanted);
    let support = count(&|(r, _)| r == wanted);
    let predicted = count(&|(_, p)| p == wanted);
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let (precision, recall) = (ratio(hit, predicted), ratio(hit, support));
    Class {
        precision,
        recall,
        f1: ratio(2.0 * precision * recall, precision + recall),
        support: support as usize,
    }
}

pub(super) fn accuracy<T: PartialEq>(pairs: &[(T, T)]) -> f64 {
    let hit = pairs.iter().filter(|(r, p)| r == p).count();
    if pairs.is_empty() { 0.0 } else { hit as f64 / pairs.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::{accuracy, class};

    #[test]
    fn counts_what_was_hit_missed_and_claimed() {
        let pairs = [('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b'), ('b', 'b')];
        let a = class(&pairs, &'a');
        assert_eq!((a.precision, a.recall, a.f1, a.support), (0.5, 0.5, 0.5, 2));
        assert_eq!(accuracy(&pairs), 0.6);
    }

    #[test]
    fn a_class_that_never_comes_up_scores_nothing() {
        let c = class(&[('a', 'a')], &'c');
        assert_eq!((c.precision, c.recall, c.f1, c.support), (0.0, 0.0, 0.0, 0));
        assert_eq!(accuracy::<char>(&[]), 0.0);
    }
}
