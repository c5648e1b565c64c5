use std::io::Write as _;

use rstest::rstest;
use secrecy::ExposeSecret as _;
use tempfile::NamedTempFile;

use crate::{Config, LlmKind, Mistakes, Sources, check};

fn read(toml: &str, env: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let sources =
        Sources { file: Some(file.path().to_owned()), env, data_dir: "/data".into(), ..Sources::default() };
    check(&sources).map_err(|Mistakes(all)| all.into_iter().map(|m| m.key).collect())
}

const TWO: &str = "[llm]\nurl = \"http://vllm:8000/v1\"\nmodel = \"qwen\"\ntimeout = \"5m\"\n\
    daily_tokens_per_tenant = 1000000\ninput_price = 0.15\noutput_price = 1\n\
    [[llm.fallbacks]]\nkind = \"anthropic\"\nurl = \"https://api.anthropic.com/v1\"\nmodel = \"claude\"\n\
    api_key = \"k-四十二\"\n";

#[test]
fn there_is_no_model_unless_one_is_named() {
    let config = read("", &[]).unwrap();
    assert!(config.llm.endpoint.is_none() && config.llm.fallbacks.is_empty());
}

#[test]
fn models_are_read_and_their_keys_are_never_printed() {
    let config = read(TWO, &[("HINDSIGHT__LLM__API_KEY", "k-env")]).unwrap();
    let (first, second) = (config.llm.endpoint.as_ref().unwrap(), &config.llm.fallbacks[0]);
    assert_eq!((first.kind, first.api_key.as_ref().unwrap().expose_secret()), (LlmKind::OpenAi, "k-env"));
    assert_eq!((first.input_price, first.output_price), (0.15, 1.0));
    assert_eq!((second.kind, second.timeout.as_secs()), (LlmKind::Anthropic, 120));

    let printed = config.to_toml().unwrap();
    assert!(!printed.contains("k-env") && !printed.contains("四十二"), "{printed}");
    assert_eq!(read(&printed, &[]).unwrap().to_toml().unwrap(), printed, "what is printed is read back");
}

#[test]
fn the_environment_alone_can_name_a_model() {
    let env = [("HINDSIGHT__LLM__URL", "http://localhost:11434/v1"), ("HINDSIGHT__LLM__MODEL", "llama3")];
    let config = read("", &env).unwrap();
    assert_eq!(config.llm.endpoint.unwrap().model, "llama3");
}

#[rstest]
#[case("[llm]\nmodel = \"m\"\n", &["llm.url"])]
#[case("[llm]\nurl = \"http://h/v1\"\n", &["llm.model"])]
#[case("[llm]\nurl = \"h:80\"\nmodel = \"m\"\n", &["llm.url"])]
#[case("[llm]\nurl = \"https://u:p@h/v1\"\nmodel = \"m\"\n", &["llm.url"])]
#[case("[llm]\nkind = \"gemini\"\nurl = \"http://h/v1\"\nmodel = \"m\"\n", &["llm.kind"])]
#[case("[llm]\nurl = \"http://h/v1\"\nmodel = \"m\"\ninput_price = -1\n", &["llm.input_price"])]
#[case("[llm]\nurl = \"http://h/v1\"\nmodel = \"m\"\nconcurrency = 0\n", &["llm.concurrency"])]
#[case("[llm]\nurl = \"http://h/v1\"\nmodel = \"m\"\napi_key_file = \"/nowhere/key\"\n", &["llm.api_key_file"])]
#[case("[llm]\nurl = \"http://h/v1\"\nmodel = \"m\"\ntemprature = 1\n", &["llm.temprature"])]
#[case("[[llm.fallbacks]]\nurl = \"http://h/v1\"\nmodel = \"m\"\n", &["llm.url", "llm.model"])]
#[case("[llm]\nurl = \"http://h/v1\"\nmodel = \"m\"\n[[llm.fallbacks]]\nurl = \"http://h/v1\"\nmodle = \"m\"\n", &["llm.fallbacks[0].model", "llm.fallbacks[0].modle"])]
fn what_cannot_work_is_named(#[case] toml: &str, #[case] keys: &[&str]) {
    assert_eq!(read(toml, &[]).unwrap_err(), keys);
}
