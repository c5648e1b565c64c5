use hindsight_client::Client;
use hindsight_proto::{
    common::v1::ReviewDecision,
    memory::v1::{
        Arm, LessonStanding, ListLessonsRequest, ListLessonsResponse, ReviewLessonRequest,
        ReviewLessonResponse, Standing, Uplift,
    },
};
use hindsight_wiring::Failure;
use uuid::Uuid;

use crate::{context::Context, names, names::LessonStage, ui::Style};

/// Most lessons of a page.
const PAGE: i32 = 500;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only lessons of this stage.
    #[arg(long)]
    stage: Option<LessonStage>,
    /// Also what belongs to this user.
    #[arg(long)]
    user: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Have a lesson serve from now on, until it is measured to harm.
    Approve(Review),
    /// Have a lesson serve no more, until it is approved.
    Reject(Review),
}

#[derive(Debug, clap::Args)]
struct Review {
    /// Its id, as `hindsight lessons` shows it.
    id: String,
    /// Why; kept with the decision.
    #[arg(long)]
    reason: String,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    match args.command {
        Some(Command::Approve(args)) => review(args, ReviewDecision::Approved, context).await,
        Some(Command::Reject(args)) => review(args, ReviewDecision::Rejected, context).await,
        None => {
            let request = ListLessonsRequest {
                stage: args.stage.map_or(0, |stage| stage.to_proto() as i32),
                user: args.user.unwrap_or_default(),
                page_size: PAGE,
                page_token: String::new(),
            };
            let all = context.with_client(|client| all(client, request)).await?;
            context.ui.message("hindsight.memory.v1.ListLessonsResponse", &all, list)?;
            Ok(0)
        }
    }
}

async fn review(args: Review, decision: ReviewDecision, context: &Context) -> Result<u8, Failure> {
    let request = ReviewLessonRequest {
        memory_id: args.id,
        user: args.user.unwrap_or_default(),
        decision: decision as i32,
        reason: args.reason,
        request_id: Uuid::new_v4().to_string(),
    };
    let done = context.with_client(|client| async move { Ok(client.review_lesson(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.ReviewLessonResponse", &done, |r: &ReviewLessonResponse| {
        r.lesson.as_ref().map(lesson).unwrap_or_default()
    })?;
    Ok(0)
}

async fn all(client: Client, mut request: ListLessonsRequest) -> Result<ListLessonsResponse, Failure> {
    let mut all = ListLessonsResponse::default();
    loop {
        let page = client.list_lessons(request.clone()).await?;
        all.lessons.extend(page.lessons);
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        request.page_token = page.next_page_token;
    }
}

fn list(all: &ListLessonsResponse) -> String {
    if all.lessons.is_empty() {
        return "no lesson was learned".to_owned();
    }
    all.lessons.iter().map(lesson).collect::<Vec<_>>().join("\n\n")
}

/// A lesson in a few lines: what it says, what is known of it, what comes next.
fn lesson(shown: &LessonStanding) -> String {
    let (lesson, standing) =
        (shown.lesson.clone().unwrap_or_default(), shown.standing.clone().unwrap_or_default());
    let stage = names::stage(standing.stage);
    let style = match stage.as_str() {
        "active" => Style::Green,
        "retired" => Style::Red,
        _ => Style::Yellow,
    };
    let mut lines = vec![
        format!("{}  {}", style.paint(&stage), Style::Dim.paint(&lesson.memory_id)),
        format!("  when  {}", lesson.situation),
        format!("  do    {}", lesson.advice),
        format!("  runs  {} confirmed it, {} contradicted it", standing.supported, standing.refuted),
    ];
    lines.extend(measured(&standing));
    lines.push(format!("  why   {}", standing.why));
    lines.push(format!("  next  {}", standing.next));
    lines.join("\n")
}

fn measured(standing: &Standing) -> Vec<String> {
    let arm = |arm: &Option<Arm>| {
        let Arm { runs, successes, .. } = arm.unwrap_or_default();
        format!("{successes} of {runs}")
    };
    let (with, without) = (standing.injected.unwrap_or_default(), standing.withheld.unwrap_or_default());
    if with.runs + without.runs == 0 {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "  tried {} reached their goal with it, {} without",
        arm(&standing.injected),
        arm(&standing.withheld)
    )];
    let effects =
        [("success", standing.success), ("steps saved", standing.steps), ("tokens saved", standing.tokens)];
    let effects = effects.into_iter().filter_map(|(what, uplift)| Some(effect(what, &uplift?)));
    let effects: Vec<String> = effects.collect();
    if !effects.is_empty() {
        let Standing { helps, harms, .. } = standing;
        lines.push(format!("  does  {}", effects.join(", ")));
        lines.push(format!("        helps with probability {helps:.2}, harms with {harms:.2}"));
    }
    lines
}

fn effect(what: &str, uplift: &Uplift) -> String {
    let Uplift { value, low, high, .. } = uplift;
    format!("{what} {:+.0} % ({:+.0} to {:+.0})", value * 100.0, low * 100.0, high * 100.0)
}

#[cfg(test)]
mod tests;
