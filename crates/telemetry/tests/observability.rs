//! The files under `deploy/observability` speak of metrics that exist, and of all of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{collections::BTreeSet, fs, path::PathBuf};

use hindsight_telemetry::{Metric, Shape};

fn file(name: &str) -> String {
    let dir =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../../deploy/observability");
    fs::read_to_string(dir.join(name)).unwrap()
}

/// Words that look like a metric of ours.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|w| w.starts_with("hindsight_") || w.starts_with("gen_ai_client_")).collect()
}

/// Every name that Prometheus knows, with the kind of its metric.
fn series() -> BTreeSet<String> {
    let names = |m: &Metric| match m.shape() {
        Shape::Counter | Shape::Gauge => vec![m.name().to_owned()],
        Shape::Seconds | Shape::Amounts | Shape::Tokens | Shape::Shares => {
            ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", m.name())).to_vec()
        }
    };
    Metric::ALL.iter().flat_map(names).collect()
}

#[test]
fn dashboard_and_alerts_ask_for_series_that_exist() {
    let series = series();
    for name in ["dashboards/hindsight.json", "alerts.yaml"] {
        let text = file(name);
        let asked = named(&text);
        assert!(asked.len() > 5, "{name} asks for {asked:?} alone");
        let unknown: Vec<_> = asked.into_iter().filter(|n| !series.contains(*n)).collect();
        assert!(unknown.is_empty(), "{name} asks for {unknown:?}, which nothing records");
    }
}

#[test]
fn the_dashboard_shows_every_metric() {
    let text = file("dashboards/hindsight.json");
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let shown = named(&text);
    let hidden = Metric::ALL.iter().filter(|m| !shown.iter().any(|s| s.starts_with(m.name())));
    assert_eq!(hidden.collect::<Vec<_>>(), Vec::<&Metric>::new());
}

#[test]
fn the_readme_says_what_every_metric_means_and_by_what_it_is_split() {
    let readme = file("README.md");
    for metric in Metric::ALL {
        let labels = metric.labels().iter().map(|l| format!("`{}`", l.name())).collect::<Vec<_>>().join(", ");
        let labels = if labels.is_empty() { "—".to_owned() } else { labels };
        let row = readme.lines().find(|l| l.starts_with(&format!("| `{}` |", metric.name())));
        let row = row.unwrap_or_else(|| panic!("{} is not in deploy/observability/README.md", metric.name()));
        assert!(row.ends_with(&format!("| {labels} | {} |", metric.help())), "{row}");
    }
    let documented: Vec<_> =
        named(&readme).into_iter().filter(|n| !Metric::ALL.iter().any(|m| m.name() == *n)).collect();
    assert!(documented.is_empty(), "{documented:?} do not exist");
}

#[test]
fn names_end_as_prometheus_wants_and_none_is_there_twice() {
    let names: BTreeSet<_> = Metric::ALL.iter().map(|m| m.name()).collect();
    assert_eq!(names.len(), Metric::ALL.len());
    for metric in Metric::ALL {
        assert_eq!(metric.name().ends_with("_total"), metric.shape() == Shape::Counter, "{metric:?}");
        assert!(metric.shape() != Shape::Seconds || metric.name().ends_with("_seconds"), "{metric:?}");
    }
}
