use hindsight_api::KeyHash;
use hindsight_types::TenantId;
use hindsight_wiring::{Failure, code};
use rand::Rng as _;
use serde_json::{Value, json};

use crate::ui::Ui;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make an API key. It is shown once; the configuration holds its hash.
    New {
        /// Name under which it appears in logs.
        #[arg(long, default_value = "client")]
        name: String,
        /// Whose memories it opens.
        #[arg(long, default_value = hindsight_api::DEFAULT_TENANT)]
        tenant: String,
    },
}

pub(crate) fn run(command: Command, ui: Ui) -> Result<u8, Failure> {
    let Command::New { name, tenant } = command;
    TenantId::new(tenant.as_str()).map_err(|e| Failure::new(code::USAGE, e))?;
    let key = new_key();
    let hash = KeyHash::of(&key).to_string();
    if ui.json {
        ui.value(&json!({ "name": name, "tenant": tenant, "key": key, "hash": hash }))?;
    } else {
        ui.print(&format!("key   {key}\nhash  {hash}"))?;
        ui.note(&format!(
            "Keep the key: it is not stored anywhere. Put the hash into the configuration:\n\n{}",
            entry(&name, &hash, &tenant)
        ));
    }
    Ok(0)
}

/// 192 random bits in the alphabet of URLs.
fn new_key() -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut random = rand::rng();
    let letters = (0..32).map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]));
    std::iter::once("hs_".to_owned()).chain(letters.map(String::from)).collect()
}

fn entry(name: &str, hash: &str, tenant: &str) -> String {
    format!(
        "[[auth.keys]]\nname = {}\nhash = \"{hash}\"\ntenant = {}\npermissions = [\"read\", \"write\"]",
        Value::from(name),
        Value::from(tenant)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_the_configuration_takes() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("hindsight.toml");
        let hash = KeyHash::of("hs_x").to_string();
        std::fs::write(&file, entry("the \"shop\"", &hash, "acme")).unwrap();
        let sources = hindsight_config::Sources { file: Some(file), ..Default::default() };
        let config = hindsight_config::check(&sources).unwrap();
        assert_eq!(
            (config.auth.keys[0].name.as_str(), config.auth.keys[0].tenant.as_str()),
            ("the \"shop\"", "acme")
        );
    }

    #[test]
    fn keys_differ_and_fit_a_header() {
        let (a, b) = (new_key(), new_key());
        assert_ne!(a, b);
        assert_eq!(a.len(), 35);
        assert!(a.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
    }
}
