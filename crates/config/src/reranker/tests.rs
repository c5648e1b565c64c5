use std::io::Write as _;

use super::*;
use crate::{Mistakes, Recall, Sources, check};

fn read(toml: &str) -> Result<Recall, Vec<String>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let sources =
        Sources { file: Some(file.path().to_owned()), data_dir: "/data".into(), ..Sources::default() };
    let config = check(&sources).map_err(|Mistakes(all)| all.into_iter().map(|m| m.key).collect::<Vec<_>>());
    Ok(config?.recall)
}

#[test]
fn none_is_asked_by_default() {
    assert!(read("").unwrap().reranker.is_none());
}

#[test]
fn both_kinds_are_read() {
    let model = tempfile::tempdir().unwrap();
    let toml = format!("[recall.reranker]\nkind = \"directory\"\npath = '{}'\n", model.path().display());
    let directory = read(&toml).unwrap();
    assert!(matches!(directory.reranker, Some(Reranker::Directory { path }) if path == model.path()));
    let http = "[recall.reranker]\nkind = \"http\"\nurl = \"http://x/v1\"\nmodel = \"m\"\napi_key = \"k-1\"\nlogits = true\n";
    let recall = read(http).unwrap();
    let shown = toml::to_string(&recall).unwrap();
    assert!(shown.contains("kind = \"http\"") && !shown.contains("k-1"), "{shown}");
    let Some(Reranker::Http(http)) = recall.reranker else { panic!("not http") };
    assert!(http.logits && http.timeout == 10 * SECOND);
}

#[test]
fn it_needs_what_its_kind_needs() {
    let mistakes = |toml: &str| read(&format!("[recall.reranker]\n{toml}")).unwrap_err();
    assert_eq!(mistakes("path = \"/m\"\n"), ["recall.reranker.kind"]);
    assert_eq!(mistakes("kind = \"directory\"\n"), ["recall.reranker.path"]);
    assert_eq!(
        mistakes("kind = \"http\"\nurl = \"ftp://x\"\npath = \"/m\"\n"),
        ["recall.reranker.url", "recall.reranker.model", "recall.reranker.path"]
    );
    assert_eq!(mistakes("kind = \"magic\"\n"), ["recall.reranker.kind"]);
}
