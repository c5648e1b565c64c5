use hindsight_codec::policy_from_proto;
use hindsight_proto::{
    common::v1::{
        CompactionRun, CompactionRunState, CompactionTask, CompactionTaskState, compaction_work::Work,
    },
    compactor::v1::{
        CompactionPlan, GetRunResponse, ListPoliciesResponse, ListRunsResponse, PolicyStatus,
        RunCompactionResponse,
    },
};

use crate::ui::Style;

pub(super) fn applied(done: &RunCompactionResponse) -> String {
    let plans = done.plans.iter().map(plan);
    let runs = done.runs.iter().map(summary);
    let all: Vec<String> = plans.chain(runs).collect();
    if all.is_empty() { "no policy is on".to_owned() } else { all.join("\n") }
}

fn plan(plan: &CompactionPlan) -> String {
    let name = Style::Bold.paint(&policy(plan.policy));
    if plan.tasks.is_empty() {
        return format!("{name}  nothing to do");
    }
    let mut lines = vec![format!("{name}  {} tasks", plan.tasks.len())];
    lines.extend(plan.tasks.iter().map(|task| format!("  {}  {}", work(task), task.why)));
    if plan.cut {
        lines.push("  there is more than one run may do; the next one would go on".to_owned());
    }
    lines.join("\n")
}

pub(super) fn runs(found: &ListRunsResponse) -> String {
    if found.runs.is_empty() {
        return "no run is on record".to_owned();
    }
    let mut lines: Vec<String> = found.runs.iter().map(summary).collect();
    if !found.next_page_token.is_empty() {
        lines.push("there are more; see them with a greater --limit".to_owned());
    }
    lines.join("\n")
}

/// A run on one line, or two when something is to be said about it.
fn summary(run: &CompactionRun) -> String {
    let (state, style) = match run.state() {
        CompactionRunState::Planning => ("planning", Style::Yellow),
        CompactionRunState::Working => ("working", Style::Yellow),
        CompactionRunState::Done if run.failed > 0 => ("done", Style::Red),
        CompactionRunState::Done => ("done", Style::Green),
        CompactionRunState::Failed => ("failed", Style::Red),
        CompactionRunState::Unspecified => ("unknown", Style::Dim),
    };
    let begun = run.started_at.as_ref().map_or_else(String::new, ToString::to_string);
    let counts = match run.planned {
        0 if run.state() == CompactionRunState::Done => "nothing to do".to_owned(),
        planned => {
            format!("{planned} tasks: {} done, {} skipped, {} failed", run.done, run.skipped, run.failed)
        }
    };
    let name = Style::Bold.paint(&policy(run.policy));
    let mut text = format!("{name}  {}  {}  {begun}  {counts}", run.id, style.paint(state));
    if run.cut {
        text += "; there was more than one run may do";
    }
    if !run.reason.is_empty() {
        text += &format!("\n  {}", run.reason);
    }
    text
}

pub(super) fn run(shown: &GetRunResponse) -> String {
    let mut lines: Vec<String> = shown.run.iter().map(summary).collect();
    for task in &shown.tasks {
        let (state, style) = match task.state() {
            CompactionTaskState::Planned => ("planned", Style::Dim),
            CompactionTaskState::Done => ("done", Style::Green),
            CompactionTaskState::Skipped => ("skipped", Style::Yellow),
            CompactionTaskState::Failed => ("failed", Style::Red),
            CompactionTaskState::Unspecified => ("unknown", Style::Dim),
        };
        let mut line = format!("  {}  {}  {}", style.paint(state), work(task), task.why);
        if !task.reason.is_empty() {
            line += &format!(" ({})", task.reason);
        }
        lines.push(line);
    }
    if !shown.next_page_token.is_empty() {
        lines.push("  and more".to_owned());
    }
    lines.join("\n")
}

pub(super) fn policies(found: &ListPoliciesResponse) -> String {
    found.policies.iter().map(status).collect::<Vec<_>>().join("\n")
}

fn status(p: &PolicyStatus) -> String {
    let name = Style::Bold.paint(&policy(p.policy));
    let when = match &p.next_at {
        Some(next) => format!("{}, next {next}", p.schedule),
        None => Style::Dim.paint("off"),
    };
    let last = p.last_run.as_ref().map_or_else(|| "no run on record".to_owned(), summary);
    format!("{name}  {when}\n  {}\n  last: {last}", p.description)
}

fn policy(number: i32) -> String {
    match policy_from_proto(number) {
        Ok(Some(policy)) => policy.as_str().to_owned(),
        _ => format!("policy {number}"),
    }
}

/// What a task does to how many.
fn work(task: &CompactionTask) -> String {
    let Some(work) = task.work.as_ref().and_then(|w| w.work.as_ref()) else {
        return "unknown work".to_owned();
    };
    let many =
        |n: usize, one: &str, more: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {more}") };
    match work {
        Work::Restage(w) => format!("restage {}", many(w.lesson_ids.len(), "lesson", "lessons")),
        Work::ExpireEvents(w) => format!("expire the events of {}", many(w.trace_ids.len(), "run", "runs")),
        Work::Recount(w) => {
            format!("recount {}", many(w.failure_pattern_ids.len(), "failure pattern", "failure patterns"))
        }
        Work::Condense(w) => format!("condense {}", many(w.experience_ids.len(), "run", "runs")),
        Work::Merge(w) => {
            format!("merge {} into {}", many(w.duplicate_ids.len(), "memory", "memories"), w.keep_id)
        }
        Work::Archive(w) => format!("archive {}", many(w.memory_ids.len(), "memory", "memories")),
        Work::ExpireArchived(w) => {
            format!("delete {} from the archive", many(w.memory_ids.len(), "memory", "memories"))
        }
        Work::Supersede(w) => {
            format!("supersede {} by {}", many(w.older_ids.len(), "memory", "memories"), w.newer_id)
        }
        Work::ExpireFacts(w) => format!("expire {}", many(w.fact_ids.len(), "fact", "facts")),
        Work::Rederive(w) => format!("rederive {}", many(w.memory_ids.len(), "memory", "memories")),
        Work::Forget(_) => "forget".to_owned(),
    }
}
