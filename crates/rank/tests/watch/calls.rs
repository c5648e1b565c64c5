//! Which calls are like one that failed.

use hindsight_rank::watch::{Patterns, times};
use hindsight_types::Frequency;
use rstest::rstest;

use crate::world::{at, days_ago, known, pattern, signs};

const NO_SPACE: &str = "write failed: no space left on device";

#[rstest]
#[case::the_same(
    r#"{"command": "npm install -g typescript"}"#,
    r#"{"command": "npm install -g typescript"}"#,
    "EACCES",
    true
)]
#[case::another_package(
    r#"{"command": "npm install -g typescript"}"#,
    r#"{"command": "npm install -g eslint"}"#,
    "EACCES",
    true
)]
#[case::another_command(
    r#"{"command": "npm install -g typescript"}"#,
    r#"{"command": "git status"}"#,
    "EACCES",
    false
)]
#[case::what_the_error_names_is_not_there(
    r#"{"command": "docker restart api"}"#,
    r#"{"command": "docker restart web"}"#,
    "No such container: api",
    false
)]
#[case::and_is(
    r#"{"command": "docker restart api"}"#,
    r#"{"command": "docker restart -t 5 api"}"#,
    "No such container: api",
    true
)]
#[case::mostly_the_same_fields(
    r#"{"service": "cart", "env": "staging", "version": "1.4"}"#,
    r#"{"service": "pay", "env": "staging", "version": "1.4"}"#,
    "quota exceeded",
    true
)]
#[case::other_values(
    r#"{"query": "select name from users"}"#,
    r#"{"query": "delete from orders where id = 4"}"#,
    "timeout",
    false
)]
#[case::no_arguments("{}", "{}", "unavailable", true)]
#[case::nothing_against_something("{}", r#"{"all": true}"#, "unavailable", false)]
#[case::chinese(
    r#"{"服务": "订单", "操作": "重启"}"#,
    r#"{"服务": "订单", "操作": "重启", "超时": 5}"#,
    "权限不足",
    true
)]
#[case::cut_off(
    r#"{"command": "rsync -a /data/photos backup:/photos --delete --exc…"#,
    r#"{"command": "rsync -a /data/photos backup:/photos --delete --exclude tmp"}"#,
    NO_SPACE,
    true
)]
fn calls_are_alike(#[case] failed: &str, #[case] call: &str, #[case] error: &str, #[case] alike: bool) {
    let patterns = Patterns::new([known(pattern(None, "tool", failed, error, 3))]);
    let found = patterns.like(&signs("tool", call), 0.5);
    assert_eq!(!found.is_empty(), alike, "{found:?}");
    assert!(patterns.like(&signs("another", call), 0.0).is_empty());
}

#[test]
fn the_most_like_comes_first_and_few_come() {
    let detail = |n: usize| format!("{{\"command\": \"deploy api to zone {}\"}}", "x ".repeat(n));
    let all = (0..20).map(|n| known(pattern(None, "sh", &detail(n), &format!("error {n}"), 3)));
    let patterns = Patterns::new(all);
    let found = patterns.like(&signs("sh", &detail(0)), 0.1);
    assert_eq!(found.len(), 8);
    assert!(found.windows(2).all(|pair| pair[0].alike >= pair[1].alike));
}

/// Whatever else is on the shelf changes nothing about one.
#[test]
fn among_many_each_is_as_like_as_alone() {
    let detail = |n: usize| format!("{{\"command\": \"copy a{} b{} c{} to d\"}}", n % 7, n % 11, n % 13);
    // Every second error names what only its own call holds.
    let error = |n: usize| {
        if n.is_multiple_of(2) {
            format!("error {n}")
        } else {
            format!("a{} b{} are busy: {n}", n % 7, n % 11)
        }
    };
    let all: Vec<_> = (0..400).map(|n| known(pattern(None, "sh", &detail(n), &error(n), 3))).collect();
    for call in [detail(3), detail(64), r#"{"command": "copy a1 to d"}"#.to_owned(), "{}".to_owned()] {
        let call = signs("sh", &call);
        let mut alone: Vec<_> =
            all.iter().flat_map(|one| Patterns::new([one.clone()]).like(&call, 0.3)).collect();
        alone.sort_by(|a, b| b.alike.total_cmp(&a.alike).then_with(|| a.pattern.id.cmp(&b.pattern.id)));
        let told = |found: &[hindsight_rank::watch::Likeness]| {
            found.iter().take(8).map(|l| (l.pattern.id, l.alike.to_bits())).collect::<Vec<_>>()
        };
        assert_eq!(told(&Patterns::new(all.clone()).like(&call, 0.3)), told(&alone));
    }
}

#[test]
fn what_is_of_late_is_counted() {
    let now = at(0);
    let mut p = pattern(None, "t", "{}", "e", 5);
    assert_eq!(times(&p, now), 5, "the first was of late");
    p.first_seen = days_ago(90);
    assert_eq!(times(&p, now), 1, "not counted yet: it is known to be seen once");
    p.frequency = Some(Frequency { counted_at: days_ago(1), week: 1, month: 4 });
    assert_eq!(times(&p, now), 4);
    p.last_seen = days_ago(31);
    assert_eq!(times(&p, now), 0);
}
