use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

/// Compiles every file under `proto/` with protox, so that no protoc has to be installed.
fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    // tonic-prost-build does not emit this since 0.14; without it every dependent is rebuilt each time.
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for area in fs::read_dir(root.join("hindsight"))? {
        for file in fs::read_dir(area?.path().join("v1"))? {
            files.push(file?.path());
        }
    }
    files.sort();
    let set = protox::compile(&files, [&root])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("hindsight_descriptor.bin"), set.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(set)?;
    Ok(())
}
