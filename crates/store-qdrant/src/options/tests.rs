use super::*;

fn refusal(change: impl FnOnce(&mut QdrantOptions)) -> String {
    let mut options = QdrantOptions::default();
    change(&mut options);
    match options.check() {
        Err(StoreError::Rejected(why)) => why,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn good_options_pass() {
    for url in ["http://localhost:6334", "https://qdrant.example.org:6334/", "http://[::1]:6334"] {
        let options = QdrantOptions { url: url.to_owned(), ..QdrantOptions::default() };
        assert!(options.check().is_ok(), "{url}");
    }
}

#[test]
fn a_bad_option_is_named() {
    let url = |url: &str| refusal(|o| o.url = url.to_owned());
    for bad in ["", "localhost:6334", "ftp://host:1", "http://host", "http://host:6334/path", "http://a b:1"]
    {
        assert!(url(bad).starts_with("url: "), "{bad:?}: {}", url(bad));
    }
    let with_password = url("http://anna:geheim@host:6334");
    assert!(with_password.contains("api_key") && !with_password.contains("geheim"), "{with_password}");
    assert!(refusal(|o| o.timeout = Duration::ZERO).starts_with("timeout: "));
    assert!(refusal(|o| o.connect_timeout = Duration::ZERO).starts_with("connect_timeout: "));
    assert!(refusal(|o| o.connections = 0).starts_with("connections: "));
    assert!(refusal(|o| o.connections = 1000).starts_with("connections: "));
    assert!(refusal(|o| o.layout.shard_number = Some(0)).starts_with("shard_number: "));
}

#[test]
fn the_key_is_not_printed() {
    let options = QdrantOptions { api_key: Some("geheim".to_owned().into()), ..QdrantOptions::default() };
    assert!(!format!("{options:?}").contains("geheim"));
}
