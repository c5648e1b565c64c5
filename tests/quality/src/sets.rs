//! The data sets of talks, as they are recorded.

pub(crate) mod locomo;
pub(crate) mod memdaily;

use std::{fs::File, io::BufReader, path::Path};

use anyhow::Context;
use serde::de::DeserializeOwned;

/// The data set at `path`. Absent: says so and gives nothing.
#[allow(clippy::print_stderr)]
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return Ok(None);
    }
    let file = BufReader::new(File::open(path)?);
    Ok(Some(serde_json::from_reader(file).with_context(|| path.display().to_string())?))
}
