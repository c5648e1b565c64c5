//! Recalls per second when several clients ask at a time.

use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::{Args, latency::WHO};
use crate::{
    report::{Report, Times},
    system::System,
};

/// Question numbers that the latency rounds do not use, and apart for each client.
const BEGIN: u64 = 1_000_000;
const STRIDE: u64 = 1_000_000;

pub(crate) async fn measure(
    system: &System,
    clients: u64,
    args: &Args,
    size: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let asking = (0..clients).map(|client| ask(system, BEGIN + client * STRIDE, until));
    let started = Instant::now();
    let answers = try_join_all(asking).await?;
    let elapsed = started.elapsed().as_secs_f64();
    let mut times = Times::default();
    let (mut asked, mut degraded) = (0, 0);
    for mine in answers {
        asked += mine.asked;
        degraded += mine.degraded;
        times.extend(mine.times);
    }
    let what = format!("{size} memories, {clients} clients");
    report.add(format!("{what}: recalls"), f64::from(asked) / elapsed, "recalls/s");
    report.add(format!("{what}: p99"), times.percentile(99), "ms");
    report.add(
        format!("{what}: degraded by the deadline"),
        100.0 * f64::from(degraded) / f64::from(asked.max(1)),
        "%",
    );
    Ok(())
}

#[derive(Default)]
struct Asked {
    asked: u32,
    degraded: u32,
    times: Times,
}

/// One client: facts and runs in turn, never the same question.
async fn ask(system: &System, begin: u64, until: Instant) -> anyhow::Result<Asked> {
    let mut mine = Asked::default();
    for index in begin.. {
        if Instant::now() >= until {
            break;
        }
        let who = WHO[usize::try_from(index % 2)?];
        let started = Instant::now();
        let answer = system.client.recall(who.request(index)).await?;
        mine.times.push(started.elapsed());
        mine.asked += 1;
        mine.degraded += u32::from(answer.degraded);
    }
    Ok(mine)
}
