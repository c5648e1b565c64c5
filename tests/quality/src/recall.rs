//! Retrieval, measured through the code of the product: memories are encoded and stored as it does, every arm of
//! the store is asked, and `rank` makes the answer. It is called directly, past the service.

mod bench;
mod curve;
mod embedder;
mod locomo;
mod memdaily;
pub(crate) mod score;
mod tau;
mod variant;

use std::{fmt, path::PathBuf};

use serde::Serialize;

use embedder::Cached;
use variant::Variant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that holds the data sets.
    #[arg(long)]
    data: PathBuf,
    /// `default`, `hashing`, `dir:PATH` (a model directory) or `http:URL` (up to and without `/embeddings`).
    #[arg(long, default_value = "default")]
    embedder: String,
    /// Model that the endpoint is asked for.
    #[arg(long, default_value = "default")]
    embedder_model: String,
    /// What the model wants before a question and before a passage.
    #[arg(long, default_value = "")]
    query_prefix: String,
    #[arg(long, default_value = "")]
    passage_prefix: String,
    /// Folder in which embeddings are kept from run to run; for slow models.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Only these sets: `locomo`, `memdaily_zh`, `tau_airline`.
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Also with each arm and each factor switched off in turn.
    #[arg(long)]
    ablate: bool,
    /// Also with settings that differ from the defaults, as JSON: `{"weights":{"session":0.2}}`.
    #[arg(long)]
    settings: Vec<String>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    embedder: String,
    locomo: Option<locomo::Report>,
    memdaily_zh: Option<memdaily::Report>,
    tau_airline: Option<tau::Report>,
}

/// Measures on every data set that is there; says loudly which are not.
#[allow(clippy::print_stdout)]
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(measure(args))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

async fn measure(args: &Args) -> anyhow::Result<Report> {
    let embedder = Cached::open(args).await?;
    let variants = Variant::all(args.ablate, &args.settings)?;
    let wanted = |set: &str| args.sets.is_empty() || args.sets.iter().any(|s| s == set);
    let mut report = Report { embedder: embedder.name(), locomo: None, memdaily_zh: None, tau_airline: None };
    if wanted("locomo") {
        report.locomo = locomo::measure(&args.data, &embedder, &variants).await?;
    }
    if wanted("memdaily_zh") {
        report.memdaily_zh = memdaily::measure(&args.data, &embedder, &variants).await?;
    }
    if wanted("tau_airline") {
        report.tau_airline = tau::measure(&args.data, &embedder, &variants).await?;
    }
    Ok(report)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Embedder: {}\n", self.embedder)?;
        if let Some(r) = &self.locomo {
            writeln!(f, "{r}")?;
        }
        if let Some(r) = &self.memdaily_zh {
            writeln!(f, "{r}")?;
        }
        if let Some(r) = &self.tau_airline {
            writeln!(f, "{r}")?;
        }
        Ok(())
    }
}
