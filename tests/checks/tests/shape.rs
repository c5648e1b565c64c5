use hindsight_checks::{members, sources};

const LEAVES: &[&str] = &["types", "proto", "text"];
const PORTS: &[&str] = &["types"];
const LOGIC: &[&str] = &["types", "text", "ports"];
const ADAPTER: &[&str] = &["types", "proto", "text", "ports", "codec"];
const EDGE: &[&str] = &[
    "types",
    "proto",
    "text",
    "ports",
    "codec",
    "api",
    "client",
    "config",
    "forgetting",
    "telemetry",
    "runtime",
];

const ADAPTERS: &[&str] = &["store", "store-edge", "store-qdrant", "bus-local", "bus-amqp", "embed", "llm"];
const SERVICES: &[&str] = &["collector", "evaluator", "compactor", "mcp", "recall"];

/// What a member may import; `None`: it is not listed, and must be.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    Some(match name {
        "types" | "proto" | "text" => vec![],
        "codec" => vec!["types", "proto"],
        "ports" => PORTS.to_vec(),
        "ingest" | "judge" | "rank" | "import" | "lifecycle" => LOGIC.to_vec(),
        "store" | "forgetting" | "bus-local" | "embed" | "llm" => ADAPTER.to_vec(),
        "bus-amqp" => ADAPTER.to_vec(),
        "store-edge" | "store-qdrant" => [ADAPTER, &["store"]].concat(),
        "api" | "client" | "telemetry" | "runtime" => EDGE.to_vec(),
        "config" => [EDGE, &["lifecycle"]].concat(),
        "collector" | "evaluator" | "compactor" | "recall" => {
            [EDGE, &["ingest", "judge", "rank", "lifecycle"]].concat()
        }
        "mcp" => EDGE.to_vec(),
        // The one place that knows the adapters.
        "wiring" => [EDGE, ADAPTERS, SERVICES, &["lifecycle"]].concat(),
        // The command and the programs under tests put everything together.
        "hindsight" | "checks" | "e2e" | "cluster" | "quality" | "bench" | "qdrant-socket" => everything(),
        _ => return None,
    })
}

fn everything() -> Vec<&'static str> {
    let logic = ["ingest", "judge", "rank", "import", "lifecycle", "wiring", "e2e", "cluster"];
    [EDGE, LEAVES, &logic, ADAPTERS, SERVICES].concat()
}

#[test]
fn imports_flow_one_way() {
    let mut wrong = Vec::new();
    for m in members().values() {
        let Some(allowed) = allowed(&m.name) else {
            wrong.push(format!("`{}` is not listed in tests/checks/tests/shape.rs", m.name));
            continue;
        };
        for import in m.imports.iter().filter(|i| !allowed.contains(&i.as_str())) {
            wrong.push(format!("`{}` imports `{import}`, which it may not", m.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_short() {
    let sources = sources();
    assert!(sources.len() > 100, "only {} files found", sources.len());
    let long: Vec<_> = sources.iter().filter(|(_, lines)| *lines > 800).collect();
    assert!(long.is_empty(), "longer than 800 lines: {long:?}");
    let mains: Vec<_> =
        sources.iter().filter(|(p, lines)| p.ends_with("src/main.rs") && *lines > 80).collect();
    assert!(mains.is_empty(), "a main.rs parses, builds and runs in 80 lines: {mains:?}");
    let mut lengths: Vec<_> = sources.iter().map(|(_, lines)| *lines).collect();
    lengths.sort_unstable();
    let (median, p90) = (lengths[lengths.len() / 2], lengths[lengths.len() * 9 / 10]);
    assert!(
        median <= 150 && p90 <= 420,
        "median {median} (at most 150), 90th percentile {p90} (at most 420)"
    );
}

#[test]
fn every_member_is_under_the_workspace_lints() {
    for m in members().values() {
        let manifest = std::fs::read_to_string(m.folder.join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "`{}` has no [lints] workspace = true",
            m.name
        );
    }
}
