//! The main job in one go, on runs that ship with the binary: take in, judge, store, recall.

use std::path::PathBuf;

use futures::stream;
use hindsight_client::Client;
use hindsight_import::{Importer, Options};
use hindsight_proto::{
    common::v1::{Environment, memory::Kind},
    memory::v1::{GetTrajectoryRequest, GetTrajectoryResponse},
    recall::v1::{RecallRequest, RecallResponse},
};
use hindsight_types::{TenantId, Timestamp, Trajectory};
use hindsight_wiring::{
    Embedded, Failure, code,
    data_dir::{DataDir, Hold},
};
use serde_json::json;

use super::import::{self, Progress, Read, Report};
use crate::{
    context::Context,
    json::of_message,
    render,
    ui::{Style, Ui},
};

macro_rules! runs {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../../../examples/runs/", $name)))),+]
    };
}

const RUNS: [(&str, &str); 7] = runs![
    "containers.jsonl",
    "deployments.jsonl",
    "disk.jsonl",
    "billing.jsonl",
    "network.jsonl",
    "openai-chat.json",
    "claude-code-session.jsonl"
];

/// New tasks, with where the agent that has them runs.
const TASKS: [(&str, &str); 2] = [
    ("The test environment is down: a container keeps restarting and QA is blocked.", "docker"),
    ("用户投诉同一笔订单被重复扣费两次，请帮忙核实", ""),
];

/// How long before now the newest run ends.
const AGE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the store in this folder; otherwise it is removed at the end.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let temporary = tempfile::tempdir()?;
    let path = args.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    let config = context.config_of(path.clone())?;
    let dir = match DataDir::hold_async(path.clone()).await? {
        Hold::Mine(dir) => dir,
        Hold::Served(serving) => {
            let message =
                format!("{} is served at {}; keep the demo elsewhere", path.display(), serving.address);
            return Err(Failure::new(code::UNAVAILABLE, message));
        }
    };
    let embedded = Embedded::start(&config, dir, None).await?;
    let shown = show(&embedded.client, context.ui).await;
    embedded.stop().await;
    let exit = shown?;
    if let Some(kept) = args.keep.filter(|_| !context.ui.json) {
        let kept = kept.display();
        context.ui.note(&format!("kept; go on with: hindsight --data-dir {kept} recall \"…\" --why"));
    }
    Ok(exit)
}

async fn show(client: &Client, ui: Ui) -> Result<u8, Failure> {
    let (report, answers) = (take_in(client, ui).await?, ask(client).await?);
    if ui.json {
        let answer = |(query, response): &(String, RecallResponse)| {
            let response = of_message("hindsight.recall.v1.RecallResponse", response)?;
            Ok(json!({ "query": query, "response": response }))
        };
        let recalls = answers.iter().map(answer).collect::<Result<Vec<_>, Failure>>()?;
        ui.value(&json!({ "import": report, "recalls": recalls }))?;
        return Ok(report.exit_code());
    }
    let heading = |text: &str| ui.print(&format!("\n{}\n", Style::Bold.paint(&format!("━━ {text}"))));
    heading("Recorded runs, taken in and judged (their dates are moved: the newest ended yesterday)")?;
    ui.print(&report.text())?;
    if let Some(judged) = best(client, &answers).await? {
        heading("One of them, step by step")?;
        ui.print(&render::trajectory::draw(&judged, false))?;
    }
    for (query, response) in &answers {
        heading(&format!("A new task: {query}"))?;
        ui.print(&format!("{}\n{}", response.block, Style::Bold.paint("why these")))?;
        ui.print(&render::recall::why(response))?;
    }
    Ok(report.exit_code())
}

async fn take_in(client: &Client, ui: Ui) -> Result<Report, Failure> {
    let reads = read().map_err(|e| Failure::new(code::INTERNAL, e))?;
    import::take_in(client, stream::iter(reads), true, Progress::new(ui, 0)).await
}

async fn ask(client: &Client) -> Result<Vec<(String, RecallResponse)>, Failure> {
    let mut answers = Vec::new();
    for (query, tag) in TASKS {
        let tags = Some(tag.to_owned()).filter(|t| !t.is_empty()).into_iter().collect();
        let request = RecallRequest {
            query: query.to_owned(),
            environment: Some(Environment { tags, ..Environment::default() }),
            ..RecallRequest::default()
        };
        answers.push((query.to_owned(), client.recall(request).await?));
    }
    Ok(answers)
}

/// The first run that was recalled, with its verdict.
async fn best(
    client: &Client,
    answers: &[(String, RecallResponse)],
) -> Result<Option<GetTrajectoryResponse>, Failure> {
    let recalled = answers.iter().flat_map(|(_, r)| &r.items).filter_map(|i| i.memory.as_ref());
    let trace_id = recalled.into_iter().find_map(|m| match &m.kind {
        Some(Kind::Experience(e)) => e.trajectory.as_ref().map(|t| t.trace_id.clone()),
        _ => None,
    });
    match trace_id {
        Some(trace_id) => {
            let request = GetTrajectoryRequest { trace_id, ..GetTrajectoryRequest::default() };
            Ok(Some(client.get_trajectory(request).await?))
        }
        None => Ok(None),
    }
}

/// What reading the files brings, with all times moved by one span.
fn read() -> Result<Vec<Read>, Box<dyn std::error::Error + Send + Sync>> {
    let options = Options::new(TenantId::new(hindsight_api::DEFAULT_TENANT)?, Timestamp::UNIX_EPOCH);
    let mut reads = Vec::new();
    for (name, text) in RUNS {
        let mut importer = Importer::new(text.as_bytes(), &options)?;
        reads.push(Read::File { path: name.to_owned() });
        reads.push(Read::Format(importer.format().name()));
        for item in importer.by_ref() {
            reads.push(item.map_or_else(Read::Broken, |run| Read::Run(Box::new(run))));
        }
        reads.push(Read::End(importer.records()));
    }
    let runs = || reads.iter().filter_map(|r| if let Read::Run(run) = r { Some(run) } else { None });
    let newest = runs().map(|r| r.ended_at).max().unwrap_or(Timestamp::UNIX_EPOCH);
    let by = Timestamp::now().duration_since(newest) - jiff::SignedDuration::try_from(AGE)?;
    for read in &mut reads {
        if let Read::Run(run) = read {
            shift(run, newest, by)?;
        }
    }
    Ok(reads)
}

/// A run without times took place when the newest did.
fn shift(run: &mut Trajectory, newest: Timestamp, by: jiff::SignedDuration) -> Result<(), jiff::Error> {
    let moved = |t: Timestamp| (if t == Timestamp::UNIX_EPOCH { newest } else { t }).checked_add(by);
    (run.started_at, run.ended_at) = (moved(run.started_at)?, moved(run.ended_at)?);
    for step in &mut run.steps {
        step.started_at = step.started_at.map(moved).transpose()?;
        step.ended_at = step.ended_at.map(moved).transpose()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_that_ship_are_whole_and_recent() {
        let reads = read().unwrap();
        let runs: Vec<_> =
            reads.iter().filter_map(|r| if let Read::Run(run) = r { Some(run) } else { None }).collect();
        assert_eq!(runs.len(), 18);
        assert!(!reads.iter().any(|r| matches!(r, Read::Broken(_))));
        let now = Timestamp::now();
        assert!(runs.iter().all(|r| r.ended_at < now && r.started_at <= r.ended_at));
        assert!(runs.iter().any(|r| now.duration_since(r.ended_at).as_hours() < 48));
    }
}
