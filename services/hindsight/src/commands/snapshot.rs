//! Copies a data directory into one file.

use std::path::PathBuf;

use hindsight_config::Store;
use hindsight_types::Timestamp;
use hindsight_wiring::{
    Failure, code,
    data_dir::{DataDir, Hold},
};
use serde::Serialize;

use crate::{context::Context, snapshot};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File to write.
    file: PathBuf,
}

/// What a snapshot holds, as it is told.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    pub(super) file: String,
    pub(super) data_dir: String,
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) created_at: Timestamp,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let config =
        context.own_config("a snapshot is of a data directory of this machine; leave --server out")?;
    if !matches!(config.store, Store::Edge) {
        let problem =
            "memories are kept by a Qdrant server: use the server's own snapshots, or `hindsight export`";
        return Err(Failure::new(code::USAGE, problem));
    }
    let dir = config.data.dir;
    if !dir.is_dir() {
        return Err(Failure::new(code::NO_INPUT, format!("{}: there is no data directory", dir.display())));
    }
    let held = match DataDir::hold(&dir)? {
        Hold::Mine(held) => held,
        Hold::Served(serving) => {
            let problem = format!(
                "{} is in use by a server (process {}, {}): stop it first, or use `hindsight export`",
                dir.display(),
                serving.pid,
                serving.address
            );
            return Err(Failure::new(code::UNAVAILABLE, problem));
        }
    };
    let manifest = snapshot::pack(held.path(), &args.file, Timestamp::now())?;
    let told = Told {
        file: args.file.display().to_string(),
        data_dir: dir.display().to_string(),
        files: manifest.files(),
        bytes: manifest.bytes(),
        created_at: manifest.created_at(),
    };
    if context.ui.json {
        context.ui.value(&told)?;
    } else {
        context.ui.print(&format!(
            "{} files, {} bytes of {} in {}",
            told.files, told.bytes, told.data_dir, told.file
        ))?;
    }
    Ok(0)
}
