//! Takes in what `hindsight export` wrote. The file is checked whole before anything of it is taken in, and what is
//! taken in twice is taken in once, so it can be gone on with after a break.

mod check;
mod progress;

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use hindsight_client::Client;
use hindsight_proto::{
    memory::v1::{ExportHeader, ImportMemoriesRequest, export_line::Line},
    storage::v1::Record,
};
use hindsight_wiring::{Failure, code};
use prost::Message as _;
use serde::Serialize;

use crate::{context::Context, exported::Lines};
use progress::{Done, Progress};

/// Records in one call, and their bytes.
const CALL: usize = 200;
const CALL_BYTES: usize = 8 * 1024 * 1024;
/// Refused records that are told one by one.
const TOLD: usize = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that `hindsight export` wrote.
    file: PathBuf,
    /// Go on after a break, where the last checkpoint was taken in.
    #[arg(long)]
    resume: bool,
}

/// A record that was not taken in.
#[derive(Debug, Clone, Serialize, serde::Deserialize)]
pub(super) struct Refused {
    line: u64,
    problem: String,
}

#[derive(Debug, Serialize)]
struct Report {
    file: String,
    records: u64,
    #[serde(flatten)]
    done: Done,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let checked = check::file(&args.file)?;
    let progress = Progress::open(&args.file, &context.target(), args.resume, &checked)?;
    let file = open(&args.file)?;
    let work = |client| async move { import(&client, file, checked.header, progress).await };
    let done = context.with_client(work).await?;
    let refused = done.refused > 0;
    let report = Report { file: args.file.display().to_string(), records: checked.records, done };
    if context.ui.json {
        context.ui.value(&report)?;
    } else {
        context.ui.print(&report.text())?;
    }
    Ok(if refused { code::DATA } else { 0 })
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|e| Failure::new(code::NO_INPUT, format!("{}: {e}", path.display())))
}

async fn import(
    client: &Client,
    file: File,
    header: ExportHeader,
    mut progress: Progress,
) -> Result<Done, Failure> {
    let mut lines = Lines::new(BufReader::new(file));
    let mut batch = Batch::default();
    while let Some(line) = lines.next()? {
        let line = line.map_err(|broken| {
            Failure::new(code::DATA, format!("line {}: {}", broken.line, broken.problem))
        })?;
        match line {
            _ if lines.number <= progress.line() => {}
            Line::Record(record) => {
                batch.add(lines.number, record);
                if batch.is_full() {
                    batch.send(client, &header, &mut progress).await?;
                }
            }
            Line::Checkpoint(checkpoint) => {
                batch.send(client, &header, &mut progress).await?;
                progress.reached(lines.number, checkpoint.sha256)?;
            }
            Line::Header(_) | Line::End(_) => {}
        }
    }
    batch.send(client, &header, &mut progress).await?;
    progress.finish()
}

#[derive(Default)]
struct Batch {
    lines: Vec<u64>,
    records: Vec<Record>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, line: u64, record: Record) {
        self.bytes += record.encoded_len();
        self.lines.push(line);
        self.records.push(record);
    }

    fn is_full(&self) -> bool {
        self.records.len() >= CALL || self.bytes >= CALL_BYTES
    }

    async fn send(
        &mut self,
        client: &Client,
        header: &ExportHeader,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let Self { lines, records, .. } = std::mem::take(self);
        if records.is_empty() {
            return Ok(());
        }
        let request = ImportMemoriesRequest { header: Some(header.clone()), records };
        let answer = client.import_memories(request).await?;
        let done = progress.done();
        done.written += u64::from(answer.written);
        done.present += u64::from(answer.present);
        done.forgotten += u64::from(answer.forgotten);
        done.refused += answer.refused.len() as u64;
        for refusal in answer.refused {
            let line = lines.get(refusal.index as usize).copied().unwrap_or_default();
            if done.named.len() < TOLD {
                done.named.push(Refused { line, problem: refusal.message });
            }
        }
        Ok(())
    }
}

impl Report {
    fn text(&self) -> String {
        let Done { written, present, forgotten, refused, named } = &self.done;
        let mut lines: Vec<String> =
            named.iter().map(|r| format!("line {}: {}", r.line, r.problem)).collect();
        lines.push(format!(
            "{} records: {written} taken in, {present} were there already, {forgotten} were forgotten and stay so, \
             {refused} refused",
            self.records
        ));
        lines.join("\n")
    }
}
