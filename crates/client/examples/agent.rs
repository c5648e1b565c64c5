//! An agent that remembers: recalls, is warned before a call that is known to fail, and records what it does.
//!
//!     hindsight serve &
//!     cargo run -p hindsight-client --example agent
#![allow(clippy::print_stdout, reason = "it shows what it is given")]

use std::time::Duration;

use hindsight_client::{
    Client, NewTask, Recorder, RecorderSettings,
    proto::{
        collector::v1::RetainRequest,
        common::v1::{FeedbackVerdict, OutcomeStatus},
        recall::v1::{RecallRequest, WatchStart},
    },
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = std::env::var("HINDSIGHT_API_KEY").ok().map(Into::into);
    let client = Client::remote("http://127.0.0.1:7411", key.as_ref())?;
    let spool = std::env::temp_dir().join("hindsight-example-agent");
    let recorder = Recorder::start(client.clone(), &RecorderSettings::new(spool))?;

    let (goal, user) = ("restart the billing service", "li.lei");
    let query = RecallRequest { query: goal.into(), user: user.into(), ..Default::default() };
    let memory = client.recall(query).await?;
    // Fenced text, to be placed after the system prompt and before the user's input.
    println!("{}{}", memory.block, memory.empty_reason);

    let task = recorder.task(NewTask {
        user: user.into(),
        receipts: vec![memory.receipt_id],
        ..NewTask::new(goal)
    })?;
    let start = WatchStart { trace_id: task.trace_id().into(), user: user.into(), ..Default::default() };
    let mut watch = client.watcher(start);
    let (tool, arguments) = ("restart_service", r#"{"name": "billing"}"#);
    match watch.before_call(tool, arguments).await? {
        Some(warning) => {
            println!("{}", warning.block);
            watch.feedback(&warning.reminder_id, FeedbackVerdict::Used, "").await?;
            task.reasoning("the call is known to fail, so the unit is looked up first");
            task.tool_call("list_services", "bill*", Ok("billing-api.service"));
            task.tool_call(tool, r#"{"name": "billing-api"}"#, Ok("restarted"));
            task.succeeded("billing-api is restarted");
            watch.end(OutcomeStatus::Success).await;
        }
        None => {
            task.tool_call(tool, arguments, Err("unit billing.service not found"));
            watch.after_call(tool, arguments, Err("unit billing.service not found")).await?;
            task.failed("there is no such unit");
            watch.end(OutcomeStatus::Failure).await;
        }
    }

    let fact = "Wants to be told before billing is restarted";
    client.retain(RetainRequest { user: user.into(), content: fact.into(), ..Default::default() }).await?;

    // What the server has not acknowledged by then stays in the spool, and is sent with the next start.
    let state = recorder.close(Duration::from_secs(5)).await;
    println!("{} events are durable, {} wait in the spool", state.acknowledged, state.pending);
    Ok(())
}
