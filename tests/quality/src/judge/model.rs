//! The language model as judge, alone and with the slice, on the same labels and runs as the slice.

mod report;
mod sets;

use std::{fs, path::PathBuf, sync::Arc, time::Instant};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use hindsight_ingest::glance;
use hindsight_judge::{
    Verdict,
    llm::{LlmJudge, LlmVerdict},
    slice,
};
use hindsight_llm::{EndpointSettings, LlmSettings, Provider, Recorded};
use hindsight_ports::{Llm, SystemClock};
use hindsight_types::{StepEvaluation, Trajectory};

use report::Report;
use sets::Labelled;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that holds the data sets.
    #[arg(long, required_unless_present = "runs")]
    data: Option<PathBuf>,
    /// Recorded runs in any format that can be imported, which nobody labelled. May be given several times.
    #[arg(long, value_name = "FILE")]
    runs: Vec<PathBuf>,
    /// Where the model is, up to and without /chat/completions or /messages.
    #[arg(long, required_unless_present = "replay")]
    llm_url: Option<String>,
    /// The model, as the endpoint names it.
    #[arg(long, requires = "llm_url", required_unless_present = "replay")]
    llm_model: Option<String>,
    /// What the endpoint speaks.
    #[arg(long, value_enum, default_value_t = Kind::Openai)]
    llm_kind: Kind,
    /// File that holds the API key.
    #[arg(long, value_name = "FILE")]
    llm_key_file: Option<PathBuf>,
    /// Longest time for one answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    llm_timeout: u64,
    /// Keep what the model answers; what is kept there already is not asked again.
    #[arg(long, value_name = "FILE", requires = "llm_url")]
    record: Option<PathBuf>,
    /// Answer from a recording alone.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["llm_url", "record"])]
    replay: Option<PathBuf>,
    /// Independent judgements per run.
    #[arg(long, default_value_t = 1)]
    judgements: u32,
    /// Judge so many runs of each set, spread evenly over it, instead of all.
    #[arg(long, value_name = "RUNS")]
    sample: Option<usize>,
    /// Leave out runs with more steps.
    #[arg(long, value_name = "STEPS")]
    longest: Option<usize>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Openai,
    Anthropic,
}

/// The labels of one run by each judge.
struct Judged {
    slice: Vec<StepEvaluation>,
    model: Vec<StepEvaluation>,
    both: Verdict,
    llm: LlmVerdict,
}

#[allow(clippy::print_stdout)]
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let reports = measure(args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(|r| println!("{r}"));
    }
    // A recording that does not fit measures nothing.
    match reports.iter().map(Report::judged).sum::<usize>() {
        0 => bail!("the model has judged no run"),
        _ => Ok(()),
    }
}

fn measure(args: &Args) -> anyhow::Result<Vec<Report>> {
    let llm = args.llm()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut reports = Vec::new();
    let labelled = args.data.as_deref().map(sets::all).transpose()?.unwrap_or_default();
    for set in labelled.into_iter().chain(sets::unlabelled(&args.runs)?) {
        let name = set.name;
        let runs: Vec<Labelled> = args.chosen(set.runs);
        let mut report = Report::new(name, runs.len());
        for labelled in &runs {
            let begun = Instant::now();
            match runtime.block_on(judge(args.judgements, llm.as_ref(), &labelled.run)) {
                Ok(judged) => report.add(labelled, &judged, begun.elapsed()),
                Err(failure) => report.fail(&labelled.run, &failure.to_string()),
            }
        }
        reports.push(report);
    }
    Ok(reports)
}

/// As the product does it: the model sees a digest, and the run decides what its claims are worth.
async fn judge(
    judgements: u32,
    llm: &dyn Llm,
    run: &Trajectory,
) -> Result<Judged, hindsight_judge::llm::LlmFailure> {
    let seen = glance::of(run);
    let judge = LlmJudge { judgements, ..LlmJudge::default() };
    let llm = judge.judge(llm, &run.scope.tenant, &seen).await?;
    let slice = slice::judge(run).steps;
    let both = Verdict::of_both(run, &seen, slice.clone(), &llm);
    Ok(Judged { slice, model: Verdict::of_model(&llm).steps, both, llm })
}

impl Args {
    fn llm(&self) -> anyhow::Result<Arc<dyn Llm>> {
        if let Some(path) = &self.replay {
            let recorded = Recorded::replay(path).with_context(|| path.display().to_string())?;
            return Ok(Arc::new(recorded));
        }
        let (Some(url), Some(model)) = (&self.llm_url, &self.llm_model) else {
            bail!("give --llm-url and --llm-model, or --replay");
        };
        let provider = match self.llm_kind {
            Kind::Openai => Provider::OpenAi,
            Kind::Anthropic => Provider::Anthropic,
        };
        let mut endpoint = EndpointSettings::new(provider, url, model);
        endpoint.timeout = std::time::Duration::from_secs(self.llm_timeout);
        if let Some(path) = &self.llm_key_file {
            let key = fs::read_to_string(path).with_context(|| path.display().to_string())?;
            endpoint.api_key = Some(key.trim().to_owned().into());
        }
        let settings = LlmSettings::new(endpoint);
        let live = hindsight_llm::build(&settings, Arc::new(SystemClock), Arc::new(|_, _| {}))?
            .context("no endpoint is named")?;
        match &self.record {
            None => Ok(live),
            Some(path) => {
                let recorded = Recorded::record(path, live).with_context(|| path.display().to_string())?;
                Ok(Arc::new(recorded))
            }
        }
    }

    fn chosen(&self, runs: Vec<Labelled>) -> Vec<Labelled> {
        let longest = self.longest.unwrap_or(usize::MAX);
        let mut runs: Vec<Labelled> = runs.into_iter().filter(|l| l.run.steps.len() <= longest).collect();
        if let Some(wanted) = self.sample.filter(|wanted| (1..runs.len()).contains(wanted)) {
            let every = runs.len() / wanted;
            runs = runs.into_iter().step_by(every).take(wanted).collect();
        }
        runs
    }
}

#[cfg(test)]
mod tests;
