//! Forgets a user and shows the proof.

use std::time::Duration;

use hindsight_client::Client;
use hindsight_proto::{
    common::v1::{Forgetting, ForgettingState as State},
    memory::v1::{
        ForgetSubjectRequest, ForgetSubjectResponse, ForgettingPreview, GetForgettingRequest,
        forget_subject_response::Outcome,
    },
};
use hindsight_wiring::{Failure, code};

use crate::{context::Context, render};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The user.
    #[arg(required_unless_present = "follow")]
    user: Option<String>,
    /// Only say what would be deleted.
    #[arg(long)]
    dry_run: bool,
    /// Do it; without this it is only said what would be deleted.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Why, for the record.
    #[arg(long, default_value = "the user asked for it")]
    reason: String,
    /// A UUID; the same again is the same forgetting.
    #[arg(long, value_name = "UUID")]
    request_id: Option<String>,
    /// Do not wait until it is done; it goes on wherever an evaluator runs.
    #[arg(long)]
    no_wait: bool,
    /// Follow one that was begun before, by its id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["user", "dry_run", "yes"])]
    follow: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    if let Some(id) = args.follow {
        let work = |client: Client| async move {
            let begun = get(&client, id).await?;
            follow(&client, begun).await
        };
        return shown(&context.with_client(work).await?, context);
    }
    let user = args.user.unwrap_or_default();
    if !args.yes {
        let request = ForgetSubjectRequest { user, validate_only: true, ..ForgetSubjectRequest::default() };
        let previewed =
            context.with_client(|client| async move { Ok(client.forget_subject(request).await?) }).await?;
        ui.message("hindsight.memory.v1.ForgetSubjectResponse", &previewed, preview)?;
        if !args.dry_run {
            ui.note("nothing was deleted; add --yes to forget the user");
        }
        return Ok(0);
    }
    // Named here, so that a call that is repeated begins one forgetting.
    let request_id = args.request_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let request = ForgetSubjectRequest { user, reason: args.reason, request_id, validate_only: false };
    let work = |client: Client| async move {
        match client.forget_subject(request).await?.outcome {
            Some(Outcome::Forgetting(begun)) if args.no_wait => Ok(begun),
            Some(Outcome::Forgetting(begun)) => {
                ui.note(&format!(
                    "it goes on by itself; `hindsight forget --follow {}` shows how far it is",
                    begun.id
                ));
                follow(&client, begun).await
            }
            _ => Err(Failure::new(code::INTERNAL, "the server answered without a forgetting")),
        }
    };
    let done = context.with_client(work).await?;
    shown(&done, context)
}

pub(crate) fn shown(f: &Forgetting, context: &Context) -> Result<u8, Failure> {
    context.ui.message("hindsight.common.v1.Forgetting", f, render::forgetting::report)?;
    if f.state() == State::Failed { Err(Failure::told(code::INTERNAL)) } else { Ok(0) }
}

/// Until it is over.
pub(crate) async fn follow(client: &Client, mut f: Forgetting) -> Result<Forgetting, Failure> {
    while !matches!(f.state(), State::Done | State::Failed) {
        tokio::time::sleep(LOOK).await;
        f = get(client, f.id).await?;
    }
    Ok(f)
}

async fn get(client: &Client, forgetting_id: String) -> Result<Forgetting, Failure> {
    let found = client.get_forgetting(GetForgettingRequest { forgetting_id }).await?;
    found.forgetting.ok_or_else(|| Failure::new(code::INTERNAL, "the server answered without a forgetting"))
}

fn preview(response: &ForgetSubjectResponse) -> String {
    match &response.outcome {
        Some(Outcome::Preview(ForgettingPreview { removed, rederived })) => {
            render::forgetting::counts("would be deleted", removed, *rederived)
        }
        _ => String::new(),
    }
}
