use super::*;

#[test]
fn a_conditional_write_is_sent_again_only_when_it_was_not_sent() {
    let again = |call: Call| {
        [Kind::Unsent, Kind::Broken, Kind::Missing, Kind::Final].map(|kind| {
            let error = StoreError::Unavailable(String::new());
            call.may_repeat(&Failure { kind, error })
        })
    };
    assert_eq!(again(Call::idempotent("get")), [true, true, false, false]);
    assert_eq!(again(Call::setup("create index")), [true, true, false, false]);
    assert_eq!(again(Call::once("conditional upsert")), [true, false, false, false]);
}

#[tokio::test]
async fn a_key_that_is_no_header_is_refused_without_being_told() {
    for key in ["zwei\nZeilen", "钥匙", "a b"] {
        let options = QdrantOptions { api_key: Some(key.to_owned().into()), ..QdrantOptions::default() };
        match Connection::new(&options) {
            Err(StoreError::Rejected(why)) => {
                assert!(why.starts_with("api_key: ") && !why.contains(key), "{why}");
            }
            other => panic!("expected a refusal, got {other:?}"),
        }
    }
    let empty = QdrantOptions { api_key: Some(String::new().into()), ..QdrantOptions::default() };
    assert!(matches!(Connection::new(&empty), Err(StoreError::Rejected(_))));
}

#[tokio::test]
async fn tls_is_built_in() {
    let tls = QdrantOptions { url: "https://localhost:6334".to_owned(), ..QdrantOptions::default() };
    assert!(Connection::new(&tls).is_ok());
}
