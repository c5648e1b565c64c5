//! Retrieval, measured: the real store on the embedded engine, the default embedder, and `rank` on what the
//! store brings. `rank` is called directly with a limit of 10, past the service, and without a token budget.

mod bench;
mod locomo;
mod memdaily;
mod score;

use std::{fs::File, io::BufReader, path::Path};

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};

#[derive(Serialize)]
struct Report {
    locomo: Option<locomo::Report>,
    memdaily_zh: Option<memdaily::Report>,
}

/// Measures on every data set that is there; says loudly which are not.
#[allow(clippy::print_stdout)]
pub(crate) fn run(data: &Path, json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(async {
        anyhow::Ok(Report {
            locomo: locomo::measure(data).await?,
            memdaily_zh: memdaily::measure(data).await?,
        })
    })?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if let Some(r) = &report.locomo {
        println!("{r}");
    }
    if let Some(r) = &report.memdaily_zh {
        println!("{r}");
    }
    Ok(())
}

/// The data set at `path`. Absent: says so and gives nothing.
#[allow(clippy::print_stderr)]
fn load<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return Ok(None);
    }
    let file = BufReader::new(File::open(path)?);
    Ok(Some(serde_json::from_reader(file).with_context(|| path.display().to_string())?))
}
