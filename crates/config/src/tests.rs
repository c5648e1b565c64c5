use std::{io::Write as _, time::Duration};

use proptest::prelude::*;
use rstest::rstest;
use tempfile::NamedTempFile;

use crate::{Config, Embedder, Mistakes, Sources, check, load};

const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct Case {
    file: NamedTempFile,
    sources: Sources,
}

fn case(toml: &str) -> Case {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources =
        Sources { file: Some(file.path().to_owned()), data_dir: "/data".into(), ..Sources::default() };
    Case { file, sources }
}

impl Case {
    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, key: &str, value: &str) -> Self {
        self.sources.flags.push((key.to_owned(), value.to_owned()));
        self
    }

    fn config(&self) -> Config {
        check(&self.sources).unwrap()
    }

    /// Key and problem of every mistake.
    fn mistakes(&self) -> Vec<(String, String)> {
        let Mistakes(all) = check(&self.sources).unwrap_err();
        all.into_iter().map(|m| (m.key, m.problem)).collect()
    }
}

#[test]
fn nothing_is_needed() {
    let config = check(&Sources { data_dir: "/data".into(), ..Sources::default() }).unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:7411");
    assert_eq!(config.data.dir.to_str(), Some("/data"));
    assert!(config.auth.keyring().unwrap().is_open());
    assert!(matches!(config.embedder, Embedder::Static));
}

#[test]
fn each_layer_goes_over_the_one_before() {
    let file =
        "[ingest]\nbatch = 10\n[bus]\nmax_depth = 4000\n[recall]\nfloor = 0.5\n[gate]\nmin_tool_calls = 9\n";
    let case = case(file)
        .env("HINDSIGHT__BUS__MAX_DEPTH", "5000")
        .env("HINDSIGHT__GATE__MIN_TOOL_CALLS", "7")
        .env("HINDSIGHT__GATE__JUDGE_FAILURES", "false")
        .env("HINDSIGHT_UNRELATED", "x")
        .flag("gate.min_tool_calls", "6")
        .flag("server.grace_period", "2m");
    let config = case.config();
    assert_eq!((config.ingest.batch, config.bus.max_depth, config.gate.min_tool_calls), (10, 5000, 6));
    assert!(!config.gate.judge_failures);
    assert_eq!(config.server.grace_period, Duration::from_secs(120));
    assert!((config.recall.floor - 0.5).abs() < f64::EPSILON);
}

#[test]
fn every_mistake_is_reported_at_once_with_its_origin() {
    let file = "[server]\nlisten = \"nowhere\"\ngrace_period = 5\n[ingest]\nbatch = 0\nbach = 1\n[recal]\nfloor = 1\n";
    let case = case(file).env("HINDSIGHT__LOG__FORMAT", "jsn").flag("bus.max_depth", "lots");
    let Mistakes(all) = check(&case.sources).unwrap_err();
    let of = |key: &str| all.iter().find(|m| m.key == key).unwrap_or_else(|| panic!("{key} in {all:#?}"));
    let path = case.file.path().display().to_string();
    assert_eq!(of("server.listen").origin, path);
    assert!(of("server.grace_period").problem.contains("as in \"30s\""));
    assert!(of("ingest.batch").problem.contains("from 1 to 1000"));
    assert!(of("ingest.bach").problem.contains("did you mean `batch`"));
    assert!(of("recal").problem.contains("did you mean `recall`"));
    assert_eq!(of("log.format").origin, "environment variable HINDSIGHT__LOG__FORMAT");
    assert!(of("log.format").problem.contains("did you mean `json`"));
    assert_eq!(of("bus.max_depth").origin, "command line");
    assert_eq!(all.len(), 7, "{all:#?}");
}

#[test]
fn at_start_an_unknown_key_is_only_a_warning() {
    let case = case("[ingest]\nbach = 1\n");
    let loaded = load(&case.sources).unwrap();
    assert_eq!(loaded.warnings.len(), 1);
    assert_eq!(loaded.warnings[0].key, "ingest.bach");
}

#[rstest]
#[case("[auth]\nkey = 1\n", "auth.key")]
#[case("[auht]\nkeys = []\n", "auht")]
#[case(
    "[[auth.keys]]\nname = \"a\"\nhash = \"HASH\"\ntenant = \"t\"\npermissions = [\"read\"]\nscope = 1\n",
    "auth.keys[0].scope"
)]
fn but_never_where_it_could_open_the_door(#[case] toml: &str, #[case] key: &str) {
    let Mistakes(all) = load(&case(&toml.replace("HASH", HASH)).sources).unwrap_err();
    assert_eq!(all[0].key, key);
}

fn key(fields: &str) -> String {
    format!("[[auth.keys]]\n{fields}\n")
}

#[test]
fn keys_say_everything_that_is_wrong_with_them() {
    let toml =
        key("name = \"a\"\nhash = \"abc\"\ntenant = \" t\"\npermissions = [\"root\"]") + &key("hash = 5");
    let mistakes = case(&toml).mistakes();
    let keys: Vec<_> = mistakes.iter().map(|(k, _)| k.trim_start_matches("auth.")).collect();
    assert_eq!(
        keys,
        [
            "keys[0].hash",
            "keys[0].tenant",
            "keys[0].permissions",
            "keys[1].name",
            "keys[1].hash",
            "keys[1].tenant",
            "keys[1].permissions"
        ]
    );
    assert!(mistakes[0].1.contains("sha256sum") && !mistakes[0].1.contains("abc"));
}

#[test]
fn keys_come_from_a_file_or_from_the_environment() {
    let fields =
        format!("name = \"ci\"\nhash = \"{HASH}\"\ntenant = \"acme\"\npermissions = [\"read\", \"write\"]");
    let from_file = case(&key(&fields));
    let inline = format!("[{{ {} }}]", fields.replace('\n', ", "));
    let from_env = case("").env("HINDSIGHT__AUTH__KEYS", &inline);
    for case in [from_file, from_env] {
        let config = case.config();
        assert_eq!(config.auth.keys.len(), 1);
        assert_eq!(config.auth.keys[0].tenant.as_str(), "acme");
        assert!(!config.auth.keyring().unwrap().is_open());
    }
    let broken = case("").env("HINDSIGHT__AUTH__KEYS", "[{ name = 1 }, oops]").mistakes();
    assert!(broken[0].1.contains("not TOML"), "{broken:?}");
}

#[test]
fn two_keys_may_not_share_a_name_or_a_hash() {
    let fields = format!("name = \"ci\"\nhash = \"{HASH}\"\ntenant = \"acme\"\npermissions = [\"read\"]");
    let twice = key(&fields) + &key(&fields);
    let keys: Vec<_> = case(&twice).mistakes().into_iter().map(|(k, _)| k).collect();
    assert_eq!(keys, ["auth.keys[1].name", "auth.keys[1].hash"]);
}

#[rstest]
#[case("0.0.0.0:7411", true)]
#[case("[::]:7411", true)]
#[case("192.168.1.2:7411", true)]
#[case("127.0.0.1:80", false)]
#[case("[::1]:7411", false)]
fn the_network_needs_keys(#[case] listen: &str, #[case] refused: bool) {
    let open = case(&format!("[server]\nlisten = \"{listen}\"\n"));
    assert_eq!(check(&open.sources).is_err(), refused);
    if refused {
        let (key, problem) = open.mistakes().remove(0);
        assert_eq!(key, "server.listen");
        let typo = case(&format!("[server]\nlisten = \"{listen}\"\n[recal]\n")).mistakes().remove(1).1;
        assert_eq!(typo.matches("server").count(), 1, "{typo}");
        assert!(problem.contains("[[auth.keys]]"));
    }
    let fields = format!("name = \"ci\"\nhash = \"{HASH}\"\ntenant = \"acme\"\npermissions = [\"read\"]");
    assert!(check(&case(&format!("[server]\nlisten = \"{listen}\"\n{}", key(&fields))).sources).is_ok());
}

#[test]
fn both_embedders_without_needs_are_known_by_name() {
    let embedder = |kind: &str| case(&format!("[embedder]\nkind = \"{kind}\"\n")).config().embedder;
    assert!(matches!(embedder("static"), Embedder::Static));
    assert!(matches!(embedder("hashing"), Embedder::Hashing));
}

#[test]
fn an_embedder_needs_what_its_kind_needs() {
    let http =
        case("[embedder]\nkind = \"http\"\nurl = \"ftp://x\"\nshorten = true\npath = \"/m\"\n").mistakes();
    let keys: Vec<_> = http.iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["embedder.url", "embedder.model", "embedder.shorten", "embedder.path"]);
    let directory = case("[embedder]\nkind = \"directory\"\n").mistakes();
    assert_eq!(directory[0].0, "embedder.path");
    let good = case(
        "[embedder]\nkind = \"http\"\nurl = \"http://x/v1\"\nmodel = \"m\"\nquery_prefix = \"query: \"\n",
    )
    .env("HINDSIGHT__EMBEDDER__API_KEY", "12345");
    let Embedder::Http(http) = good.config().embedder else { panic!("not http") };
    assert_eq!(http.query_prefix, "query: ");
    assert!(http.api_key.is_some(), "a key of digits alone is still a text");
}

#[test]
fn a_check_names_every_model_directory_that_is_not_there() {
    let file = NamedTempFile::new().unwrap();
    let toml = format!(
        "[embedder]\nkind = \"directory\"\npath = \"/nowhere/模型\"\n\
         [recall.reranker]\nkind = \"directory\"\npath = '{}'\n",
        file.path().display()
    );
    let case = case(&toml);
    let mistakes = case.mistakes();
    let keys: Vec<_> = mistakes.iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["embedder.path", "recall.reranker.path"]);
    assert!(mistakes[0].1.contains("/nowhere/模型 is no directory; give"), "{mistakes:?}");
    let loaded = load(&case.sources).unwrap();
    assert!(loaded.warnings.is_empty(), "a command that needs neither works");
}

#[test]
fn what_is_printed_is_read_back_the_same_and_hides_secrets() {
    let secret = "s3cr3t-密钥";
    let fields = format!("name = \"ci\"\nhash = \"{HASH}\"\ntenant = \"acme\"\npermissions = [\"read\"]");
    let toml = format!(
        "[embedder]\nkind = \"http\"\nurl = \"http://x\"\nmodel = \"m\"\napi_key = \"{secret}\"\n{}",
        key(&fields)
    );
    let config = case(&toml).config();
    let printed = config.to_toml().unwrap();
    for hidden in [secret, HASH] {
        assert!(!printed.contains(hidden), "{printed}");
        assert!(!format!("{config:?}").contains(hidden));
    }
    // With the hash put back, everything else must be there and valid.
    let again = case(&printed.replace("hash = \"(hidden)\"", &format!("hash = \"{HASH}\""))).config();
    assert_eq!(again.to_toml().unwrap(), printed);
}

#[test]
fn a_file_that_is_missing_or_broken_is_named() {
    let missing = Sources { file: Some("/nowhere/h.toml".into()), ..Sources::default() };
    assert!(check(&missing).unwrap_err().to_string().contains("/nowhere/h.toml"));
    let broken = case("[server\nlisten = 1");
    let text = check(&broken.sources).unwrap_err().to_string();
    assert!(text.contains(&broken.file.path().display().to_string()), "{text}");
    assert_eq!(case("server = 1").mistakes()[0].0, "server");
}

proptest! {
    #[test]
    fn nothing_that_is_written_makes_it_panic(
        toml in "(\\[(server|auth|recall|embedder|\\PC{0,5})\\]\n((listen|keys|floor|kind|\\PC{0,5}) = (\\PC{0,8}|[0-9.]{1,30}|\"\\PC{0,8}\")\n){0,3}){0,3}",
        name in "HINDSIGHT__[A-Z_]{0,12}",
        value in "\\PC{0,20}",
    ) {
        let _ = check(&case(&toml).env(&name, &value).sources);
    }
}

#[test]
fn who_wants_a_model_to_judge_has_to_name_one() {
    let mistakes = case("[evaluate]\njudge = \"both\"\n").mistakes();
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].0, "evaluate.judge");
    assert!(mistakes[0].1.contains("[llm]"), "{}", mistakes[0].1);

    let llm = "[llm]\nurl = \"http://vllm:8000/v1\"\nmodel = \"qwen\"\n";
    let evaluate =
        "[evaluate]\njudge = \"llm\"\njudgements = 3\nfall_back = false\nmodel_deadline = \"2m\"\n";
    let e = case(&format!("{llm}{evaluate}")).config().evaluate;
    assert_eq!((e.judge.as_str(), e.judgements, e.fall_back), ("llm", 3, false));
    assert_eq!(e.model_deadline, Duration::from_secs(120));

    let bad = "[evaluate]\njudge = \"oracle\"\njudgements = 10\nmodel_deadline = \"1h\"\n";
    let keys: Vec<_> = case(bad).mistakes().into_iter().map(|(k, _)| k).collect();
    assert_eq!(keys, ["evaluate.judge", "evaluate.judgements", "evaluate.model_deadline"]);
}
