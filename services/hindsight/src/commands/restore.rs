//! Brings a snapshot into an empty data directory.

use std::path::PathBuf;

use hindsight_wiring::Failure;

use super::snapshot::Told;
use crate::{context::Context, snapshot};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that `hindsight snapshot` wrote.
    file: PathBuf,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let config = context.own_config("a snapshot is restored on this machine; leave --server out")?;
    let dir = config.data.dir;
    let manifest = snapshot::unpack(&args.file, &dir)?;
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
        let text = format!(
            "{} files, {} bytes of {} are in {}",
            told.files, told.bytes, told.created_at, told.data_dir
        );
        context.ui.print(&text)?;
    }
    Ok(0)
}
