use std::io::Write as _;

use super::*;
use crate::{Config, Mistakes, Sources, check};

fn sources(toml: &str) -> (tempfile::NamedTempFile, Sources) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources =
        Sources { file: Some(file.path().to_owned()), data_dir: "/data".into(), ..Sources::default() };
    (file, sources)
}

fn read(toml: &str) -> Config {
    check(&sources(toml).1).unwrap()
}

fn mistakes(toml: &str) -> Vec<(String, String)> {
    let Mistakes(all) = check(&sources(toml).1).unwrap_err();
    all.into_iter().map(|m| (m.key, m.problem)).collect()
}

const FILE: &str = r#"
[compaction]
tasks_per_run = 50
[compaction.raw_events]
keep = "30d"
rare_runs = 5
[compaction.archive]
enabled = false
success_half_life = "60d"
served_per_goal = 50
keep = "1year"
[compaction.facts]
schedule = "@daily"
resolved = "7d"
[compaction.tenants.acme.raw_events]
keep = "90d"
[compaction.tenants."b 2".lessons]
enabled = false
"#;

#[test]
fn a_tenant_differs_in_what_it_sets_alone() {
    let compaction = read(FILE).compaction;
    assert_eq!(compaction.tasks_per_run, 50);
    let of = |tenant: &str| compaction.policies.of(&TenantId::new(tenant).unwrap()).clone();
    let (all, acme, other) = (of("anyone"), of("acme"), of("b 2"));
    assert_eq!((all.raw_events.keep, all.raw_events.rare_runs), (30 * DAY, 5));
    assert_eq!((acme.raw_events.keep, acme.raw_events.rare_runs), (90 * DAY, 5));
    assert!(!all.enabled(Policy::Archive) && all.enabled(Policy::Lessons) && !other.enabled(Policy::Lessons));
    assert!((all.archive.success_half_life - 60.0).abs() < 1e-9);
    assert_eq!((all.archive.served_per_goal, all.archive.keep.as_secs()), (50, 31_557_600));
    assert_eq!(all.facts.resolved.as_hours(), 7 * 24);
    assert_eq!(all.timing(Policy::Facts).unwrap().schedule.to_string(), "0 0 * * *");
}

#[test]
fn what_is_shown_reads_back_as_it_is() {
    let config = read(FILE);
    let shown = config.to_toml().unwrap();
    assert_eq!(read(&shown).compaction.policies, config.compaction.policies, "{shown}");
    let usual = read("").to_toml().unwrap();
    assert_eq!(read(&usual).compaction.policies, ByTenant::default(), "{usual}");
}

#[test]
fn every_mistake_is_told_with_its_remedy() {
    let toml = r#"
[compaction]
task_per_run = 5
[compaction.raw_events]
schedule = "daily"
keep = "1m"
[compaction.lessons]
keep = "5d"
[compaction.tenants.acme]
raw_event = 3
[compaction.tenants.acme.facts]
enabled = "yes"
"#;
    let found = mistakes(toml);
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    for key in [
        "compaction.raw_events.schedule",
        "compaction.raw_events.keep",
        "compaction.tenants.acme.facts.enabled",
        "compaction.lessons.keep",
        "compaction.tenants.acme.raw_event",
        "compaction.task_per_run",
    ] {
        assert!(keys.contains(&key), "{key}: {keys:?}");
    }
    let schedule = found.iter().find(|(key, _)| key.ends_with("schedule")).unwrap();
    assert!(schedule.1.contains("30 3 * * *"), "{schedule:?}");
}
