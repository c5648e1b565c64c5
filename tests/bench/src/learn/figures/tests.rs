use super::*;

fn task(solved: bool, calls: usize) -> Done {
    Done { solved, calls, harmed: false, repeated: true }
}

/// 40 tasks: `before` the drift and `after` it, as the number of tasks since then tells.
fn life(before: bool, after: fn(usize) -> bool, calls: usize) -> Life {
    let first = (0..20).map(|_| task(before, calls));
    first.chain((0..20).map(|n| task(after(n), calls))).collect()
}

fn lives(kind: Kind, life: impl Fn() -> Life) -> Lives {
    Lives { kind, seeds: (0..4).map(|_| life()).collect() }
}

fn value(figures: &[Figure], figure: &str, memory: usize) -> Option<Estimate> {
    figures.iter().find(|f| f.figure == figure).unwrap().of[memory].1
}

fn exactly(value: f64) -> Option<Estimate> {
    Some(Estimate { value, low: value, high: value })
}

#[test]
fn figures_are_of_their_part_of_a_life() {
    let none = lives(Kind::None, || life(false, |_| false, 12));
    let good = lives(Kind::Hindsight, || life(true, |n| n >= 6, 9));
    let figures = of(&[none, good]);
    assert_eq!(value(&figures, "success, first quarter", 0), exactly(0.0));
    assert_eq!(value(&figures, "success, second quarter", 1), exactly(100.0));
    assert_eq!(value(&figures, "success, ten tasks after the drift", 1), exactly(40.0));
    assert_eq!(value(&figures, "calls per task, first quarter", 1), exactly(9.0));
    assert_eq!(value(&figures, "calls saved on repeated tasks", 1), exactly(25.0));
    assert_eq!(value(&figures, "calls saved on repeated tasks", 0), exactly(0.0));
}

#[test]
fn recovery_is_the_first_window_that_is_as_good_as_before() {
    let late = |n: usize| n >= 6;
    let figures = of(&[
        lives(Kind::Hindsight, || life(true, |_| true, 9)),
        lives(Kind::Hindsight, || life(true, late, 9)),
        lives(Kind::Hindsight, || life(true, |_| false, 9)),
    ]);
    let figure = "tasks to recover after the drift";
    assert_eq!([0, 1, 2].map(|m| value(&figures, figure, m)), [10.0, 16.0, 20.0].map(exactly));
}

#[test]
fn an_interval_holds_the_value_and_widens_with_what_worlds_differ_in() {
    let mut mixed = lives(Kind::Hindsight, || life(true, |_| true, 9));
    mixed.seeds[0] = life(false, |_| false, 9);
    let figures = of(&[mixed]);
    let success = value(&figures, "success, first quarter", 0).unwrap();
    assert_eq!(success.value, 75.0);
    assert!(success.low < 75.0 && success.high == 100.0, "{success:?}");
    assert_eq!(value(&figures, "calls saved on repeated tasks", 0), None, "there is nothing to compare with");
}
