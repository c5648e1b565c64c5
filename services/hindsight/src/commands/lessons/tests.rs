use hindsight_proto::common::v1::{Lesson, Stage};

use super::*;

#[test]
fn a_lesson_is_told_in_a_few_lines() {
    let arm = |runs, successes| Some(Arm { runs, successes, steps: 8.0, tokens: 0.0 });
    let uplift = |value| Some(Uplift { value, low: value - 0.2, high: value + 0.1, probability: 0.97 });
    let mut shown = LessonStanding {
        lesson: Some(Lesson {
            memory_id: "7b0c".to_owned(),
            situation: "a container restarts in a loop".to_owned(),
            advice: "先看日志".to_owned(),
            ..Lesson::default()
        }),
        standing: Some(Standing {
            stage: Stage::Active as i32,
            supported: 7,
            refuted: 1,
            injected: arm(8, 7),
            withheld: arm(6, 2),
            success: uplift(0.5),
            steps: uplift(-0.1),
            helps: 0.97,
            harms: 0.03,
            why: "success 88 % with it, 38 % without: better with probability 0.97".to_owned(),
            next: "retired when it harms with probability 0.90 (now 0.03)".to_owned(),
            ..Standing::default()
        }),
    };
    let expected = "active  7b0c
  when  a container restarts in a loop
  do    先看日志
  runs  7 confirmed it, 1 contradicted it
  tried 7 of 8 reached their goal with it, 2 of 6 without
  does  success +50 % (+30 to +60), steps saved -10 % (-30 to +0)
        helps with probability 0.97, harms with 0.03
  why   success 88 % with it, 38 % without: better with probability 0.97
  next  retired when it harms with probability 0.90 (now 0.03)";
    assert_eq!(lesson(&shown), expected);

    let told = Standing {
        stage: Stage::Candidate as i32,
        why: "learned".to_owned(),
        next: "a run".to_owned(),
        ..Standing::default()
    };
    shown.standing = Some(told);
    let text = lesson(&shown);
    assert!(text.starts_with("candidate") && !text.contains("tried"), "{text}");
    assert_eq!(list(&ListLessonsResponse::default()), "no lesson was learned");
}
