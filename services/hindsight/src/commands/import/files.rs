//! From paths to trajectories. Reading is blocking and runs ahead of submitting by a few runs only.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use futures::{Stream, stream};
use hindsight_import::{Importer, Options, RecordError};
use hindsight_types::{Timestamp, Trajectory};
use hindsight_wiring::{Failure, code};
use tokio::sync::mpsc::{self, Sender};

use super::Progress;

/// Runs read ahead.
const AHEAD: usize = 16;
const READ_BUFFER: usize = 256 * 1024;
/// What is read in a folder.
const EXTENSIONS: [&str; 3] = ["json", "jsonl", "traj"];

/// What reading brings, in order.
pub(crate) enum Read {
    File {
        path: String,
    },
    Format(&'static str),
    Run(Box<Trajectory>),
    Broken(RecordError),
    /// The file as a whole cannot be read.
    Unreadable(String),
    /// Its number of records.
    End(u64),
}

/// Files as they are, folders as the files in them: those of known kinds, or any.
pub(super) fn expand(paths: &[PathBuf], any: bool) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |e: std::io::Error| Failure::new(code::NO_INPUT, format!("{}: {e}", path.display()));
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let before = files.len();
            walk(path, any, &mut files).map_err(failed)?;
            files[before..].sort();
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        let kinds = EXTENSIONS.join(", .");
        return Err(Failure::new(code::NO_INPUT, format!("no .{kinds} file is there")));
    }
    Ok(files)
}

/// Hidden files are left out.
pub(super) fn walk(folder: &Path, any: bool, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // Links are not followed: they could lead in circles.
        if entry.file_type()?.is_dir() {
            walk(&path, any, files)?;
        } else if is_wanted(&path, any) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_wanted(path: &Path, any: bool) -> bool {
    let known = || path.extension().and_then(|e| e.to_str()).is_some_and(|e| EXTENSIONS.contains(&e));
    let hidden = path.file_name().is_none_or(|n| n.as_encoded_bytes().starts_with(b"."));
    !hidden && (any || known())
}

pub(super) fn total_bytes(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|f| fs::metadata(f).ok()).map(|m| m.len()).sum()
}

/// Reads on a thread of its own until the stream is dropped.
pub(super) fn read_all(
    files: Vec<PathBuf>,
    options: Options,
    progress: Progress,
) -> impl Stream<Item = Read> + Unpin {
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        for path in files {
            let name = path.display().to_string();
            let opened = File::open(&path).map(|file| {
                // A run without any time took place when its file was written.
                let written = file.metadata().and_then(|m| m.modified()).ok();
                let default_time =
                    written.and_then(|t| Timestamp::try_from(t).ok()).unwrap_or(options.default_time);
                let input = BufReader::with_capacity(READ_BUFFER, progress.counting(file));
                (input, Options { default_time, ..options.clone() })
            });
            let sent = match opened {
                Ok((input, options)) => read(name, input, &options, &sender),
                Err(e) => send(&sender, Read::File { path: name })
                    .and_then(|()| send(&sender, Read::Unreadable(e.to_string()))),
            };
            if sent.is_none() {
                return;
            }
        }
    });
    stream::poll_fn(move |cx| receiver.poll_recv(cx))
}

/// `None`: nobody listens any more.
fn read(path: String, input: impl BufRead, options: &Options, sender: &Sender<Read>) -> Option<()> {
    send(sender, Read::File { path })?;
    let mut importer = match Importer::new(input, options) {
        Ok(importer) => importer,
        Err(e) => return send(sender, Read::Unreadable(e.to_string())),
    };
    send(sender, Read::Format(importer.format().name()))?;
    for item in importer.by_ref() {
        send(sender, item.map_or_else(Read::Broken, |run| Read::Run(Box::new(run))))?;
    }
    send(sender, Read::End(importer.records()))
}

fn send(sender: &Sender<Read>, read: Read) -> Option<()> {
    sender.blocking_send(read).ok()
}
