//! Reads files, submits their runs, waits until they are judged, and reports what became of each; or follows files
//! that grow.

mod files;
mod progress;
mod report;
mod submit;
mod verdict;
mod watch;

use std::path::PathBuf;

use futures::Stream;
use hindsight_client::Client;
use hindsight_import::{Format, Options, formats};
use hindsight_types::{Invalid, TaskType, TenantId, UserId};
use hindsight_wiring::{Failure, code};

use crate::{context::Context, ui::Ui};

pub(crate) use files::Read;
pub(crate) use progress::Progress;
pub(crate) use report::{Broken, Report};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Do not wait until the runs are judged.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    watch: watch::Watching,
}

/// Which runs, and what is known of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// Files to read, or folders whose .json, .jsonl and .traj files are read; all of them when --format is given.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read all files as this format instead of recognising it from their content.
    #[arg(long, value_parser = format)]
    format: Option<FormatName>,
    /// The person the runs belong to, where they do not say; only this user will see them.
    #[arg(long)]
    user: Option<String>,
    /// Kind of task, where the runs do not say.
    #[arg(long)]
    task_type: Option<String>,
    /// Where the runs took place, as in docker or k8s. May be given several times.
    #[arg(long, value_name = "TAG")]
    env: Vec<String>,
}

#[derive(Clone, Copy)]
struct FormatName(&'static dyn Format);

impl std::fmt::Debug for FormatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

fn format(name: &str) -> Result<FormatName, String> {
    formats::by_name(name).map(FormatName).ok_or_else(|| {
        format!("known formats are {}", hindsight_import::FORMATS.map(Format::name).join(", "))
    })
}

impl Source {
    /// What is in the files, in order.
    pub(crate) fn read(&self) -> Result<impl Stream<Item = Read> + Unpin + use<>, Failure> {
        let options = self.options().map_err(|e| Failure::new(code::USAGE, e))?;
        let files = files::expand(&self.files, self.format.is_some())?;
        // Reading alone is quick; what it is for shows its own progress.
        let progress = Progress::new(Ui { json: true }, 0);
        Ok(files::read_all(files, options, progress))
    }

    fn options(&self) -> Result<Options, Invalid> {
        // The server puts the tenant of the caller in its place.
        let tenant = TenantId::new(hindsight_api::DEFAULT_TENANT)?;
        Ok(Options {
            user: self.user.clone().map(UserId::new).transpose()?,
            task_type: self.task_type.clone().map(TaskType::new).transpose()?,
            tags: self.env.clone(),
            format: self.format.map(|f| f.0),
            ..Options::new(tenant, jiff::Timestamp::now())
        })
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    args.watch.check()?;
    let options = args.source.options().map_err(|e| Failure::new(code::USAGE, e))?;
    if args.watch.watch.is_some() {
        return watch::run(args.watch, options, context).await;
    }
    let files = files::expand(&args.source.files, args.source.format.is_some())?;
    let (ui, wait) = (context.ui, !args.no_wait);
    let report = context.with_client(|client| import(client, files, options, wait, ui)).await?;
    if ui.json {
        ui.value(&report)?;
    } else {
        ui.print(&report.text())?;
    }
    Ok(report.exit_code())
}

async fn import(
    client: Client,
    files: Vec<PathBuf>,
    options: Options,
    wait: bool,
    ui: Ui,
) -> Result<Report, Failure> {
    let progress = Progress::new(ui, files::total_bytes(&files));
    let runs = files::read_all(files, options, progress.clone());
    take_in(&client, runs, wait, progress).await
}

/// Submits what is read and follows it until it is judged.
pub(crate) async fn take_in(
    client: &Client,
    runs: impl Stream<Item = Read> + Unpin,
    wait: bool,
    progress: Progress,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    let submitted = submit::all(client, runs, &mut report, &progress).await?;
    if wait {
        report.verdicts = Some(verdict::follow(client, submitted, &progress).await?);
    }
    progress.done();
    Ok(report)
}
