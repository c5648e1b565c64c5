//! Writes everything of a tenant to a file, one record a line, so that it can be gone on with after a break.

mod writer;

use std::path::{Path, PathBuf};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use hindsight_client::Client;
use hindsight_proto::memory::v1::{ExportEnd, ExportMemoriesRequest, ExportMemoriesResponse};
use hindsight_wiring::{Failure, code};
use serde::Serialize;

use crate::context::Context;
use writer::Writer;

const STDOUT: &str = "-";
/// Times that a connection may be lost without anything having come through it.
const REPEATS: usize = 6;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File to write; `-` writes to standard output.
    file: PathBuf,
    /// Go on with a file that was not finished.
    #[arg(long)]
    resume: bool,
}

/// What was written.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    file: String,
    records: u64,
    counts: std::collections::BTreeMap<String, u64>,
    /// Records that cannot be read in the store.
    unreadable: u64,
    /// Of all lines but the last.
    sha256: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let to_stdout = args.file == Path::new(STDOUT);
    if to_stdout && args.resume {
        return Err(Failure::new(code::USAGE, "--resume needs a file"));
    }
    let writer = if to_stdout { Writer::to_stdout() } else { Writer::to_file(&args.file, args.resume)? };
    let end = match writer.end() {
        Some(end) => end.clone(),
        None => context.with_client(|client| export(client, writer)).await?,
    };
    let report = Report {
        file: args.file.display().to_string(),
        records: end.records,
        counts: end.counts.into_iter().collect(),
        unreadable: end.unreadable,
        sha256: end.sha256,
    };
    if to_stdout {
        context.ui.note(&report.text());
    } else if context.ui.json {
        context.ui.value(&report)?;
    } else {
        context.ui.print(&report.text())?;
    }
    Ok(if report.unreadable > 0 { code::DATA } else { 0 })
}

/// Until the end, also when the connection is lost between.
async fn export(client: Client, mut writer: Writer) -> Result<ExportEnd, Failure> {
    let backoff = || ExponentialBuilder::default().with_jitter().with_max_times(REPEATS).build();
    let mut pauses = backoff();
    loop {
        let before = writer.records();
        let error = match from(&client, &mut writer).await {
            Ok(end) => return Ok(end),
            Err(Stop::Lost(error)) if error.is_transient() => error,
            Err(Stop::Lost(error)) => return Err((*error).into()),
            Err(Stop::Failed(failure)) => return Err(failure),
        };
        if writer.records() > before {
            pauses = backoff();
        }
        let Some(pause) = pauses.next() else { return Err((*error).into()) };
        tokio::time::sleep(pause.max(error.retry_after.unwrap_or_default())).await;
    }
}

enum Stop {
    Lost(Box<hindsight_client::Error>),
    Failed(Failure),
}

impl From<tonic::Status> for Stop {
    fn from(status: tonic::Status) -> Self {
        Self::Lost(Box::new(status.into()))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// From where the file ends so far.
async fn from(client: &Client, writer: &mut Writer) -> Result<ExportEnd, Stop> {
    writer.forget_unfinished();
    let request = ExportMemoriesRequest { cursor: writer.cursor().to_owned() };
    let mut parts = client.memory().export_memories(request).await?.into_inner();
    while let Some(part) = parts.message().await? {
        let ExportMemoriesResponse { header, records, cursor, end, unreadable } = part;
        if let Some(header) = header {
            writer.header(header)?;
        }
        writer.take(records, unreadable, &cursor)?;
        if end.is_some() {
            return Ok(writer.finish()?);
        }
    }
    Err(tonic::Status::unavailable("the export broke off").into())
}

impl Report {
    fn text(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        let mut text = format!("{} records in {}", self.records, self.file);
        if !counts.is_empty() {
            text.push_str(&format!(": {}", counts.join(", ")));
        }
        if self.unreadable > 0 {
            text.push_str(&format!(
                "\n{} records cannot be read in the store and are missing",
                self.unreadable
            ));
        }
        text
    }
}
