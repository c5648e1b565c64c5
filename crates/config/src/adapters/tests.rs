use std::io::Write as _;

use rstest::rstest;
use secrecy::ExposeSecret as _;
use tempfile::NamedTempFile;

use crate::{BusKind, Config, Mistakes, Sources, Store, check};

fn read(toml: &str, env: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let sources =
        Sources { file: Some(file.path().to_owned()), env, data_dir: "/data".into(), ..Sources::default() };
    check(&sources).map_err(|Mistakes(all)| all.into_iter().map(|m| m.key).collect())
}

const CLUSTER: &str = "[bus]\nkind = \"amqp\"\nurl = \"amqps://mq:5671\"\nusername = \"hindsight\"\n\
    [store]\nkind = \"qdrant\"\nurl = \"http://qdrant:6334\"\nreplicas = 2\nquantization = \"int8\"\n";

#[test]
fn secrets_come_from_files_too_and_are_never_printed() {
    let mut key = NamedTempFile::new().unwrap();
    key.write_all("k-四十二\n".as_bytes()).unwrap();
    let path = key.path().to_str().unwrap();
    let env = [("HINDSIGHT__BUS__PASSWORD", "pass wörd"), ("HINDSIGHT__STORE__API_KEY_FILE", path)];
    let config = read(CLUSTER, &env).unwrap();
    let BusKind::Amqp(bus) = &config.bus.kind else { panic!("not amqp") };
    assert_eq!(bus.password.as_ref().unwrap().expose_secret(), "pass wörd");
    let Store::Qdrant(store) = &config.store else { panic!("not qdrant") };
    assert_eq!(store.api_key.as_ref().unwrap().expose_secret(), "k-四十二");

    let printed = config.to_toml().unwrap();
    assert!(!printed.contains("wörd") && !printed.contains("四十二"), "{printed}");
    assert_eq!(read(&printed, &[]).unwrap().to_toml().unwrap(), printed, "what is printed is read back");
}

#[test]
fn a_secret_has_one_source_that_can_be_read() {
    let both = [("HINDSIGHT__BUS__PASSWORD", "a"), ("HINDSIGHT__BUS__PASSWORD_FILE", "/nowhere")];
    assert_eq!(read(CLUSTER, &both).unwrap_err(), ["bus.password_file"]);
    let empty = NamedTempFile::new().unwrap();
    let env = [("HINDSIGHT__STORE__API_KEY_FILE", empty.path().to_str().unwrap())];
    assert_eq!(read(CLUSTER, &env).unwrap_err(), ["store.api_key_file"]);
}

#[rstest]
#[case("[bus]\nkind = \"amqp\"\n", &["bus.url"])]
#[case("[bus]\nkind = \"amqp\"\nurl = \"http://mq\"\n", &["bus.url"])]
#[case("[bus]\nkind = \"amqp\"\nurl = \"amqp://u:p@mq\"\n", &["bus.url"])]
#[case("[bus]\nkind = \"amqp\"\nurl = \"amqp://mq\"\nca_file = \"/ca\"\n", &["bus.ca_file"])]
#[case("[bus]\nurl = \"amqp://mq\"\n", &["bus.url"])]
#[case("[bus]\nkind = \"rabbit\"\n", &["bus.kind"])]
#[case("[store]\nkind = \"qdrant\"\nurl = \"http://q\"\nprefix = \"a/b\"\n", &["store.prefix"])]
#[case("[store]\nkind = \"qdrant\"\nurl = \"http://q\"\nwrite_consistency = 2\n", &["store.write_consistency"])]
#[case("[store]\nkind = \"edge\"\ntimeout = \"5s\"\n", &["store.timeout"])]
fn what_cannot_work_is_named(#[case] toml: &str, #[case] keys: &[&str]) {
    assert_eq!(read(toml, &[]).unwrap_err(), keys);
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let file = "[bus]\nkind = \"amqp\"\nurl = \"amqp://u:s3cret@mq\"\n";
    let mut named = NamedTempFile::new().unwrap();
    named.write_all(file.as_bytes()).unwrap();
    let sources = Sources { file: Some(named.path().to_owned()), ..Sources::default() };
    assert!(!check(&sources).unwrap_err().to_string().contains("s3cret"));
}
