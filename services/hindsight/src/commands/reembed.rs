use std::time::Duration;

use hindsight_client::Client;
use hindsight_proto::operations::v1::{Embedder, GetEmbedderRequest, GetEmbedderResponse, Reembedding};
use hindsight_wiring::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{context::Context, ui::Ui};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(250);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Wait until every memory has its new vector. Without a server, this command does the work.
    #[arg(long)]
    wait: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    let look = |client: Client| async move {
        let state = client.get_embedder(GetEmbedderRequest {}).await?;
        if args.wait { wait(&client, state, ui).await } else { Ok(state) }
    };
    let state = context.with_client(look).await?;
    ui.message("hindsight.operations.v1.GetEmbedderResponse", &state, text)?;
    Ok(0)
}

async fn wait(
    client: &Client,
    mut state: GetEmbedderResponse,
    ui: Ui,
) -> Result<GetEmbedderResponse, Failure> {
    let target = if ui.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    // The template is a constant; a bad one falls back to the default look.
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} memories {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut told = String::new();
    while state.reembedding.is_some() || state.serving != state.configured {
        if let Some(build) = &state.reembedding {
            bar.set_length(build.total);
            bar.set_position(build.done + build.skipped);
            bar.set_message(left(build));
        }
        if state.trouble != told {
            told.clone_from(&state.trouble);
            if !told.is_empty() {
                bar.suspend(|| ui.note(&told));
            }
        }
        tokio::time::sleep(EVERY).await;
        state = client.get_embedder(GetEmbedderRequest {}).await?;
    }
    bar.finish_and_clear();
    Ok(state)
}

/// For people.
pub(crate) fn text(state: &GetEmbedderResponse) -> String {
    let name = |embedder: &Option<Embedder>| embedder.as_ref().map(name).unwrap_or_default();
    let mut lines = vec![format!("embedder  {}", name(&state.serving))];
    if let Some(build) = &state.reembedding {
        let Reembedding { percent, total, done, skipped, .. } = build;
        let mut line = format!(
            "changing  to {}: {percent} % re-encoded, {done} of {total} memories{}",
            name(&build.embedder),
            left(build)
        );
        if *skipped > 0 {
            line.push_str(&format!(", {skipped} refused by it"));
        }
        lines.push(line);
    } else if state.serving != state.configured {
        lines.push(format!("waiting   to change to {}: no compactor with it leads", name(&state.configured)));
    }
    if !state.trouble.is_empty() {
        lines.push(format!("trouble   {}", state.trouble));
    }
    lines.join("\n")
}

fn name(embedder: &Embedder) -> String {
    format!("{} ({} dimensions)", embedder.model, embedder.dimension)
}

fn left(build: &Reembedding) -> String {
    let Some(left) = build.left else { return String::new() };
    match left.seconds {
        seconds @ ..60 => format!(", {seconds} s left"),
        seconds @ ..3_600 => format!(", {} min left", (seconds + 59) / 60),
        seconds => format!(", {} h left", (seconds + 3_599) / 3_600),
    }
}

#[cfg(test)]
mod tests;
