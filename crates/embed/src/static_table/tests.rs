use sha2::{Digest, Sha256};

use super::*;

/// The file is what the script made, as `distil/README.md` says.
#[test]
fn the_file_is_the_one_that_is_documented() {
    let digest = format!("{:x}", Sha256::digest(FILE));
    let readme = include_str!("../../distil/README.md");
    assert!(readme.contains(&digest), "{digest} is not in distil/README.md");
    assert!(FILE.len() < 5_000_000, "{} bytes", FILE.len());
}

#[test]
fn a_damaged_program_is_told_with_the_remedy() {
    let mut file = FILE.to_vec();
    file[100_000] ^= 1;
    let damage = Table::read(&file, vector::MEANING).unwrap_err();
    let error = embedder(Err(&damage)).unwrap_err().to_string();
    assert!(error.contains("digest") && error.contains("install the program again"), "{error}");
}

#[tokio::test]
async fn long_batches_keep_their_order() {
    let embedder = StaticEmbedder::new().unwrap();
    let texts: Vec<String> = (0..4_000).map(|i| format!("order-{i} 订单")).collect();
    let vectors = embedder.embed(&texts, Purpose::Passage).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    for i in [0, 1_999, 3_999] {
        assert_eq!(vectors[i], embed(&texts[i]));
    }
}
