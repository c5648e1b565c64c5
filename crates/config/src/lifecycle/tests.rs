use std::io::Write as _;

use super::*;
use crate::{Mistakes, Sources, check};

fn read(toml: &str) -> Result<Lifecycle, Vec<String>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources =
        Sources { file: Some(file.path().to_owned()), data_dir: "/data".into(), ..Sources::default() };
    let config = check(&sources).map_err(|Mistakes(all)| all.into_iter().map(|m| m.key).collect::<Vec<_>>());
    Ok(config?.lifecycle)
}

#[test]
fn a_tenant_has_what_it_sets_and_else_what_all_have() {
    assert_eq!(read("").unwrap().0, EvidencePolicies::default());
    let toml = "[lifecycle]\nretire = 0.8\n[lifecycle.tenants.acme]\ngate = \"people\"\nhold_out = 0\n";
    let lifecycle = read(toml).unwrap();
    let of = |tenant: &str| lifecycle.0.of(&TenantId::new(tenant).unwrap());
    let all = EvidencePolicy { retire: 0.8, ..EvidencePolicy::default() };
    assert_eq!(of("other"), all);
    assert_eq!(of("acme"), EvidencePolicy { gate: Gate::People, hold_out: 0.0, ..all });
    let shown = format!("[lifecycle]\n{}", toml::to_string(&lifecycle).unwrap());
    assert_eq!(read(&shown.replace("[tenants", "[lifecycle.tenants")).unwrap(), lifecycle, "{shown}");
}

#[test]
fn every_mistake_is_told() {
    let toml = "[lifecycle]\ngate = \"none\"\nhold_out = 0.9\npromote = 0.2\nruns = 0\nwindow = 1\nwhat = 1\n\
                [lifecycle.tenants.acme]\nretire = 2\n";
    let mut wrong = read(toml).unwrap_err();
    wrong.sort();
    let keys = ["gate", "hold_out", "promote", "runs", "tenants.acme.retire", "what", "window"];
    assert_eq!(wrong, keys.map(|key| format!("lifecycle.{key}")));
}
