use std::{hint::black_box, path::PathBuf, time::Instant};

use hindsight_embed::EmbedderSpec;
use hindsight_ports::{Embedder, Purpose};
use hindsight_text::{bm25, tokens};

use crate::{
    data,
    report::{Report, Times},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Texts of each length.
    #[arg(long, default_value_t = 2_000)]
    texts: u64,
    /// Also measure this sentence-transformers model.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Texts of each length for the model.
    #[arg(long, default_value_t = 50)]
    model_texts: u64,
}

type Source = (&'static str, fn(u64) -> String);

const SOURCES: [Source; 2] = [("query of 10 words", data::query), ("run of 100 words", data::long_text)];

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let started = Instant::now();
    let table = EmbedderSpec::Static.build().await?;
    report.add("check the static table, once", started.elapsed().as_secs_f64() * 1e3, "ms");
    let hashing = EmbedderSpec::Hashing.build().await?;
    // The dictionary is read with the first Chinese word.
    let started = Instant::now();
    black_box(tokens("第一次"));
    report.add("load the Chinese dictionary, once", started.elapsed().as_secs_f64() * 1e3, "ms");
    for (name, text) in SOURCES {
        let texts: Vec<String> = (0..args.texts).map(text).collect();
        time(report, &format!("tokens, {name}"), &texts, |text| black_box(tokens(text)).len());
        time(report, &format!("bm25, {name}"), &texts, |text| black_box(bm25::encode_document(text)).0.len());
        vectors(report, &format!("{}, {name}", table.id().model), &texts, &*table).await?;
        vectors(report, &format!("hashing-v1, {name}"), &texts, &*hashing).await?;
    }
    if let Some(path) = &args.model {
        let model = EmbedderSpec::Directory(path.clone()).build().await?;
        for (name, text) in SOURCES {
            let texts: Vec<String> = (0..args.model_texts).map(text).collect();
            vectors(report, &format!("{}, {name}", model.id().model), &texts, &*model).await?;
        }
    }
    Ok(())
}

fn time(report: &mut Report, name: &str, texts: &[String], work: impl Fn(&str) -> usize) {
    let mut times = Times::default();
    for text in texts {
        let started = Instant::now();
        black_box(work(text));
        times.push(started.elapsed());
    }
    percentiles(report, name, &times);
}

async fn vectors(
    report: &mut Report,
    name: &str,
    texts: &[String],
    embedder: &dyn Embedder,
) -> anyhow::Result<()> {
    let mut times = Times::default();
    for text in texts {
        let started = Instant::now();
        black_box(embedder.embed(std::slice::from_ref(text), Purpose::Query).await?);
        times.push(started.elapsed());
    }
    percentiles(report, name, &times);
    Ok(())
}

fn percentiles(report: &mut Report, name: &str, times: &Times) {
    report.add(format!("{name}, p50"), times.percentile(50) * 1e3, "µs");
    report.add(format!("{name}, p99"), times.percentile(99) * 1e3, "µs");
}
