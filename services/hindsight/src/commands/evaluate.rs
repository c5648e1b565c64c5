//! Judges recorded runs and keeps nothing.

use std::time::Duration;

use futures::StreamExt as _;
use hindsight_client::Client;
use hindsight_codec::{judge_choice_to_proto, trajectory_to_proto};
use hindsight_ingest::redact;
use hindsight_proto::{
    common::v1::Trajectory,
    evaluator::v1::{EvaluateRequest, EvaluateResponse},
};
use hindsight_types::JudgeChoice;
use hindsight_wiring::{Failure, code};
use serde_json::{Value, json};

use super::import::{self, Read};
use crate::{context::Context, json, render, ui::Ui};

/// A model may take long over a long run.
const DEADLINE: Duration = Duration::from_secs(600);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: import::Source,
    /// Who judges: slice, llm, or both. The last two need a model, see [llm] of the configuration.
    /// Without it, as the server is set.
    #[arg(long, value_parser = judge)]
    judge: Option<JudgeChoice>,
    /// Independent judgements of the model, 1 to 9.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    judgements: Option<u32>,
    /// Show arguments and results in full.
    #[arg(long)]
    full: bool,
}

pub(crate) fn judge(name: &str) -> Result<JudgeChoice, String> {
    let found = JudgeChoice::ALL.into_iter().find(|j| j.as_str() == name);
    found.ok_or_else(|| format!("known judges are {}", JudgeChoice::ALL.map(JudgeChoice::as_str).join(", ")))
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let (ui, full) = (context.ui, args.full);
    let mut reads = args.source.read()?;
    let (judge, judgements) = (judge_choice_to_proto(args.judge), args.judgements.unwrap_or(0));
    context
        .with_client(|client| async move {
            let client = client.with_deadline(DEADLINE);
            let mut end = End::default();
            let mut file = String::new();
            while let Some(read) = reads.next().await {
                let run = match read {
                    Read::Run(mut run) => {
                        redact::trajectory(&mut run);
                        trajectory_to_proto(&run)
                    }
                    Read::Broken(e) => {
                        end.broken(ui, &import::Broken::from(e).told(&file));
                        continue;
                    }
                    Read::Unreadable(e) => {
                        end.broken(ui, &format!("{file}: {e}"));
                        continue;
                    }
                    Read::File { path } => {
                        file = path;
                        continue;
                    }
                    Read::Format(_) | Read::End(_) => continue,
                };
                let request = EvaluateRequest { trajectory: Some(run.clone()), judge, judgements };
                end.judged(ui, full, &run, &ask(&client, request).await?)?;
            }
            end.finish(ui)
        })
        .await
}

async fn ask(client: &Client, request: EvaluateRequest) -> Result<EvaluateResponse, Failure> {
    Ok(client.evaluate(request).await?)
}

#[derive(Default)]
struct End {
    runs: Vec<Value>,
    any: bool,
    broken: bool,
}

impl End {
    fn broken(&mut self, ui: Ui, problem: &str) {
        ui.note(problem);
        self.broken = true;
    }

    /// On a terminal each verdict is shown as it comes; JSON is one list.
    fn judged(
        &mut self,
        ui: Ui,
        full: bool,
        run: &Trajectory,
        response: &EvaluateResponse,
    ) -> Result<(), Failure> {
        self.any = true;
        if !ui.json {
            return ui.print(&render::evaluation::draw(run, response, full));
        }
        let verdict = json::of_message("hindsight.evaluator.v1.EvaluateResponse", response)?;
        self.runs.push(json!({"trace_id": run.trace_id, "verdict": verdict}));
        Ok(())
    }

    fn finish(self, ui: Ui) -> Result<u8, Failure> {
        if ui.json {
            ui.value(&self.runs)?;
        }
        match (self.any, self.broken) {
            (_, true) => Err(Failure::told(code::DATA)),
            (false, false) => Err(Failure::new(code::NO_INPUT, "there is no run in it")),
            (true, false) => Ok(0),
        }
    }
}
