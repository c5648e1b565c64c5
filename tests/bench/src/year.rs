//! A year of work in compressed time: many tasks a day, upkeep every night. Does what is stored stay bounded, and is
//! what is needed once a month still recalled at the end?

mod disk;
mod rare;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _};
use hindsight_proto::{
    collector::v1::SubmitTrajectoryRequest,
    common::v1::Trajectory,
    memory::v1::{GetStatsRequest, GetStatsResponse},
    recall::v1::RecallRequest,
};
use hindsight_types::Timestamp;

use crate::{
    report::Report,
    simulated::Hindsight,
    submit::{self, Proof},
    upkeep,
    world::{
        advice::{Advice, Told},
        agent,
        task::{BEGINS_AT, Reports, Task},
    },
};

use rare::Topic;

const DAY: i64 = 24 * 3600;
/// Days between two looks at what is stored, and between two uses of rare knowledge.
const MONTH: u64 = 30;
/// Of so many tasks one asks the memory first.
const ASKS: usize = 10;
/// Of five tasks so many are done by somebody who knows what helps.
const KNOWN: u64 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    days: u64,
    /// Tasks a day.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    per_day: u64,
    /// Runs submitted at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    parallel: u64,
    /// Where the data directory is made; it is removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// How long the parts of the year took.
#[derive(Default)]
struct Spent {
    work: Duration,
    upkeep: Duration,
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let hindsight = Hindsight::start(args.dir.as_deref(), at(0, 0)?, &upkeep::by_request_alone()).await?;
    let parallel = usize::try_from(args.parallel)?;
    let mut reports = Reports::new(1);
    let mut spent = Spent::default();
    for day in 0..args.days {
        let begun = Instant::now();
        hindsight.set_time(at(day, DAY - 2 * 3600)?);
        let drifted = 2 * day >= args.days;
        let tasks: Vec<Task> = (0..args.per_day)
            .map(|n| reports.next(seconds(day, n as i64 * (DAY - 4 * 3600) / args.per_day as i64), drifted))
            .collect();
        let submitted = futures::stream::iter(tasks).map(|task| work(&hindsight, task));
        submitted.buffer_unordered(parallel).try_for_each(|()| async { Ok(()) }).await?;
        use_rare(&hindsight, day, report).await?;
        hindsight.settled().await?;
        spent.work += begun.elapsed();

        let begun = Instant::now();
        hindsight.set_time(at(day, DAY - 3600)?);
        upkeep::run(&hindsight).await?;
        spent.upkeep += begun.elapsed();
        if (day + 1) % MONTH == 0 || day + 1 == args.days {
            look(&hindsight, day + 1, &spent, report).await?;
        }
    }
    finale(&hindsight, args, report).await?;
    hindsight.stop().await;
    report.add("whole time", (spent.work + spent.upkeep).as_secs_f64() / 60.0, "min");
    report.add("upkeep of it", spent.upkeep.as_secs_f64() / 60.0, "min");
    Ok(())
}

fn seconds(day: u64, second: i64) -> i64 {
    BEGINS_AT + DAY * i64::try_from(day).unwrap_or_default() + second
}

fn at(day: u64, second: i64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_second(seconds(day, second))?)
}

/// One task of every day: most people know what helps, some ask the memory, the others try.
async fn work(hindsight: &Hindsight, task: Task) -> anyhow::Result<()> {
    let receipts = match task.index % ASKS {
        0 => vec![ask(hindsight, &task.report, &task).await?.1],
        _ => Vec::new(),
    };
    let fix = Told { command: task.fault.fix(task.drifted), result: String::new() };
    let known = Advice { steps: vec![fix], ..Advice::default() };
    let told = if task.seed % 5 < KNOWN { vec![known] } else { Vec::new() };
    let run = agent::work(&task, &told);
    let run = submit::trajectory(submit::name(&task), &task, &run, receipts, Proof::Check);
    submit(hindsight, run).await
}

async fn submit(hindsight: &Hindsight, trajectory: Trajectory) -> anyhow::Result<()> {
    let request =
        SubmitTrajectoryRequest { trajectory: Some(trajectory), ..SubmitTrajectoryRequest::default() };
    hindsight.client().submit_trajectory(request).await?;
    Ok(())
}

async fn ask(hindsight: &Hindsight, query: &str, task: &Task) -> anyhow::Result<(String, String)> {
    let request = RecallRequest {
        query: query.to_owned(),
        environment: Some(submit::environment(task)),
        ..RecallRequest::default()
    };
    let answer = hindsight.client().recall(request).await?;
    Ok((answer.block, answer.receipt_id))
}

/// Whether a recall for a rare trouble, told in other words each time, gives what helps; with its receipt.
async fn knows(hindsight: &Hindsight, topic: &Topic, time: u64) -> anyhow::Result<(bool, String)> {
    let request = RecallRequest { query: topic.report(time), ..RecallRequest::default() };
    let answer = hindsight.client().recall(request).await?;
    Ok((answer.block.contains(topic.marker), answer.receipt_id))
}

/// In the first month every rare trouble comes up; after that those that come up once a month do.
async fn use_rare(hindsight: &Hindsight, day: u64, report: &mut Report) -> anyhow::Result<()> {
    let month = day / MONTH;
    let due = rare::TOPICS
        .iter()
        .zip(0..)
        .filter(|(topic, n)| day % MONTH == 2 + 3 * n && (month == 0 || topic.monthly));
    for (topic, n) in due {
        let receipt = match month {
            0 => None,
            _ => {
                let (known, receipt) = knows(hindsight, topic, month).await?;
                if !known {
                    report.add(format!("month {month}: `{}` was not recalled", topic.marker), 0.0, "");
                }
                Some(receipt)
            }
        };
        submit(hindsight, topic.run(format!("rare-{n}-{month}"), month, seconds(day, 12 * 3600), receipt))
            .await?;
    }
    Ok(())
}

async fn look(hindsight: &Hindsight, day: u64, spent: &Spent, report: &mut Report) -> anyhow::Result<()> {
    let stats = hindsight.client().get_stats(GetStatsRequest::default()).await?;
    let GetStatsResponse { events, experiences, steps, lessons, failure_patterns, .. } = stats;
    let bytes = disk::size(&hindsight.data_dir())?;
    report.add(format!("day {day}: on disk"), bytes as f64 / f64::from(1 << 20), "MB");
    let kinds = [
        ("events", events),
        ("experiences", experiences),
        ("steps", steps),
        ("lessons", lessons),
        ("failure patterns", failure_patterns),
    ];
    for (kind, count) in kinds {
        report.add(format!("day {day}: {kind}"), count as f64, "");
    }
    let minutes = (spent.work + spent.upkeep).as_secs_f64() / 60.0;
    report.add(format!("day {day}: minutes so far"), minutes, "min");
    // Who waits for so long wants to see that it goes on.
    eprintln!(
        "day {day}: {} MB, {events} events, {experiences} experiences, {steps} steps, {lessons} lessons, \
         {failure_patterns} failure patterns; {minutes:.1} minutes, {:.1} of them upkeep",
        bytes >> 20,
        spent.upkeep.as_secs_f64() / 60.0
    );
    Ok(())
}

async fn finale(hindsight: &Hindsight, args: &Args, report: &mut Report) -> anyhow::Result<()> {
    for (monthly, what) in [(true, "used once a month"), (false, "used once in the first month")] {
        let topics: Vec<&Topic> = rare::TOPICS.iter().filter(|topic| topic.monthly == monthly).collect();
        let mut known = 0;
        for topic in &topics {
            known += u32::from(knows(hindsight, topic, 1 + args.days / MONTH).await?.0);
        }
        report.add(format!("recalled at the end of {} {what}", topics.len()), f64::from(known), "");
    }
    Ok(())
}
